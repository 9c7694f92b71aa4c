"""What a process that builds or simulates is asked, and what it tells."""

import json
import os
from pathlib import Path

__all__ = ["NEWS", "SPEC", "read_spec", "tell", "tell_error", "tell_result"]

#: Environment variables: the file with the question, and the one for the answers.
SPEC = "MRCNIC_SPEC"
NEWS = "MRCNIC_NEWS"


def read_spec() -> dict:
    """Return what is to be done."""
    return json.loads(Path(os.environ[SPEC]).read_text())


def tell(**news):
    """Write a line of news."""
    with Path(os.environ[NEWS]).open("a") as file:
        file.write(json.dumps(news) + "\n")


def tell_result(result: dict):
    """Write the result, which ends the process."""
    tell(result=result)


def tell_error(sentence: str):
    """Write why there is no result, which ends the process."""
    tell(error=sentence)

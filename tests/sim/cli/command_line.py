"""What a command prints, for the tests of the command line."""

import re

__all__ = ["refusal"]


def refusal(outcome, code):
    """Return the only line that an unsuccessful command prints on stderr."""
    assert outcome[0] == code, outcome
    assert re.fullmatch(r"mrcnic: \S.*\n", outcome[2]), outcome[2]
    return outcome[2].removeprefix("mrcnic: ").rstrip()

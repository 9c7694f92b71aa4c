"""The process that a simulation runs in: ``python -m mrcnic.sim.bench.child``."""

import os
import sys
from pathlib import Path

from .report import NEWS, SPEC
from .runner import find_simulator, run_design

__all__ = ["main"]


def main():
    """Run a bench on a finished build; see :func:`mrcnic.sim.scenarios.run.simulate`."""
    bench, simulator, build, folder, seed = sys.argv[1:]
    find_simulator(simulator)
    run_design(
        bench,
        top="pair",
        simulator=simulator,
        build_dir=Path(build),
        test_dir=Path(folder),
        results_xml=str(Path(folder) / "results.xml"),
        seed=int(seed),
        env={
            SPEC: str(Path(folder) / "spec.json"),
            NEWS: str(Path(folder) / "news.jsonl"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "COCOTB_LOG_LEVEL": "WARNING",
        },
    )


if __name__ == "__main__":
    main()

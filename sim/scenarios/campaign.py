"""A campaign: many runs drawn by lot, on all processors of a machine or of a cluster."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.report.campaign import run_problems

from .misadventure import Run, draw_run
from .run import build, simulate

__all__ = ["Batch", "RunReport", "batches", "local_workers", "run_batch", "run_campaign"]

#: Runs of one simulator process, at most: to start one takes as long as a run.
_BATCH = 5

#: Cycles after which a run counts as hung, far more than all its time-outs take.
_MAX_CYCLES = 600_000


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Runs of one simulator, from ``first`` on."""

    preset: str
    seed: int
    first: int
    runs: int


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """What came of a run.

    Attributes
    ----------
    preset, seed, number, first : :class:`str` and :class:`int`
        Which run, and the first run of its simulator.
    problems : list of :class:`str`
        Sentences; none if all is as it must be.
    figures : dict of :class:`str` to :class:`int`
        What happened.
    """

    preset: str
    seed: int
    number: int
    first: int
    problems: list[str]
    figures: dict[str, int]

    @property
    def replay(self) -> str:
        """Command that does the run again, as it was."""
        return (
            f"mrcnic sim campaign --preset {self.preset} --seed {self.seed} "
            f"--first {self.first} --runs {self.number - self.first + 1} --jobs 1"
        )


def batches(presets: Sequence[str], *, seed: int, first: int, runs: int, jobs: int) -> list[Batch]:
    """Return all batches, for so many simulators at once; the presets take turns."""
    size = min(_BATCH, -(-runs // jobs))
    starts = range(first, first + runs, size)
    return [
        Batch(
            preset=presets[k % len(presets)],
            seed=seed,
            first=start,
            runs=min(size, first + runs - start),
        )
        for k, start in enumerate(starts)
    ]


def run_batch(batch: Batch, stop: Callable[[], bool]) -> list[RunReport]:
    """Do the runs of a batch, here and now.

    A run that brings its simulator to an end does not keep the others from being done.
    """
    reports: list[RunReport] = []
    end = batch.first + batch.runs
    while not stop() and (start := batch.first + len(reports)) < end:
        reports += _run_from(replace(batch, first=start, runs=end - start), stop)
    return reports


def _run_from(batch: Batch, stop: Callable[[], bool]) -> list[RunReport]:
    """Do runs in one simulator until one ends it; there is a report of that one."""
    pair = build(PRESETS[batch.preset], simulator="verilator", progress=lambda step: None)
    runs = [
        draw_run(batch.preset, seed=batch.seed, number=n)
        for n in range(batch.first, batch.first + batch.runs)
    ]
    items = [
        (run.number, {**asdict(run.spec), "max_cycles": cycles, "event_names": pair.event_names})
        for run in runs
        for cycles in ([run.reset_cycles] if run.reset_cycles else []) + [_MAX_CYCLES]
    ]
    found: dict[int, list[dict]] = {run.number: [] for run in runs}

    def take(news: dict):
        if "run" in news:
            found[news["run"]].append(news)

    reason = ""
    try:
        simulate(
            pair,
            "mrcnic.sim.bench.tb_campaign",
            {"config": asdict(PRESETS[batch.preset]), "items": items},
            progress=take,
            seed=batch.seed % (1 << 32),
            stop=stop,
        )
    except RuntimeError as error:
        reason = str(error)
    reports = []
    for run in runs:
        news = found[run.number]
        whole = len(news) == 1 + bool(run.reset_cycles)
        if not whole and stop():
            break
        reports.append(_report(batch, run, news, None if whole else reason))
        if not whole:
            break
    return reports


def _report(batch: Batch, run: Run, news: list[dict], reason: str | None) -> RunReport:
    problems = [item["broken"] for item in news if "broken" in item]
    if reason is not None:
        problems.append(reason)
    outcomes = [item["outcome"] for item in news if "outcome" in item]
    figures = {}
    if not problems:
        *interrupted, outcome = outcomes
        for before in interrupted:
            problems += [*before["scoreboard_faults"], *before["malformed"]]
        problems += run_problems(
            outcome,
            spoiled=dict(run.spec.spoiled),
            is_cut_off=run.is_cut_off,
            renewed={qp for qp, _ in run.spec.renewals},
        )
        figures = {
            "octets": outcome["octets"],
            "packets": outcome["packets"],
            "resends": outcome["resends"],
            "drops": outcome["drops"],
            "duplicates": outcome["verdicts"].get("DUPLICATE", 0),
            "failed QPs": sum(s not in ("OK", "FLUSHED", "REFUSED") for s in outcome["statuses"]),
            "resets": len(interrupted),
            "cycles": sum(one["total_cycles"] for one in outcomes),
        }
    return RunReport(
        preset=batch.preset,
        seed=batch.seed,
        number=run.number,
        first=batch.first,
        problems=problems,
        figures=figures,
    )


@dataclass(frozen=True, kw_only=True)
class Workers:
    """What runs batches.

    Attributes
    ----------
    executor : :class:`~concurrent.futures.Executor`
        Takes them.
    jobs : :class:`int`
        How many it runs at once.
    stop : callable
        Tells them when to give up.
    """

    executor: Executor
    jobs: int
    stop: Callable[[], bool]


@contextlib.contextmanager
def local_workers(jobs: int) -> Iterator[Workers]:
    """Give workers that run so many simulators at once on this machine.

    Whatever ends the block, no simulator is left behind. Threads will do: each simulator is a
    process of its own.
    """
    stopped = threading.Event()
    executor = ThreadPoolExecutor(jobs)
    try:
        yield Workers(executor=executor, jobs=jobs, stop=stopped.is_set)
    finally:
        stopped.set()
        executor.shutdown(cancel_futures=True)


def run_campaign(work: Sequence[Batch], workers: Workers) -> Iterator[RunReport]:
    """Do all batches; give each report as soon as its batch is done."""
    futures: list[Future] = [
        workers.executor.submit(run_batch, batch, workers.stop) for batch in work
    ]
    for future in as_completed(futures):
        yield from future.result()

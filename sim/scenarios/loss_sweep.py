"""What random loss costs: the same transfer at several rates of loss."""

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.build import Build
from mrcnic.sim.fabric.link import OVERHEAD_OCTETS, LinkSettings
from mrcnic.sim.report.transfer import problems

from .campaign import Workers
from .run import simulate
from .transfer import TransferSpec

__all__ = ["FRAME_HEADERS", "RATES", "Point", "ideal_us", "run_loss_sweep"]

#: Chances of loss: none, those that have limits, and between.
RATES = (0.0, 0.001, 0.003, 0.01)

#: Headers of a write with SRv6: Ethernet, two of IPv6, UDP, BTH, METH, TSETH, RETH, ICRC.
FRAME_HEADERS = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4

#: There and back through the idle fabric, four links and the NICs, in microseconds.
_RTT_US = 8.0

_QPS = 4


@dataclass(frozen=True, kw_only=True)
class Point:
    """What came of one transfer.

    Attributes
    ----------
    drop : :class:`float`
        Chance of loss, of packets of every kind.
    seed : :class:`int`
        Of the losses.
    packets, lost, resends : :class:`int`
        Writes sent, those of them that were lost, and those that were sent again.
    completion_us : :class:`float`
        From the first work request to the last completion.
    problems : list of :class:`str`
        What went wrong, besides.
    """

    drop: float
    seed: int
    packets: int
    lost: int
    resends: int
    completion_us: float
    problems: list[str]


def ideal_us(octets: int, *, preset: str) -> float:
    """Return how long a transfer takes if the wires are never idle, and nothing is lost."""
    config = PRESETS[preset]
    packets = -(-octets // config.mtu)
    wire = octets + packets * (FRAME_HEADERS + OVERHEAD_OCTETS)
    lane_bps = min(LinkSettings.rate_bps, 8 * config.beat_octets * config.clk_hz)
    return wire * 8e6 / (config.lanes * lane_bps) + _RTT_US


def run_loss_sweep(
    pair: Build,
    workers: Workers,
    *,
    preset: str,
    octets: int,
    rates: Sequence[float],
    seeds: Sequence[int],
) -> Iterator[Point]:
    """Do a transfer for each rate and seed; give what came of each as soon as it is known."""
    futures = [
        workers.executor.submit(_run, pair, preset, octets, drop, seed, workers.stop)
        for drop in sorted(rates, reverse=True)
        for seed in seeds
    ]
    for future in as_completed(futures):
        yield future.result()


def _run(pair: Build, preset: str, octets: int, drop: float, seed: int, stop) -> Point:
    spec = TransferSpec(config=PRESETS[preset], size=octets, qps=_QPS, drop=drop, seed=seed)
    result = simulate(
        pair,
        "mrcnic.sim.bench.tb_transfer",
        {**asdict(spec), "max_cycles": spec.max_cycles, "event_names": pair.event_names},
        progress=lambda news: None,
        seed=seed,
        stop=stop,
    )
    return Point(
        drop=drop,
        seed=seed,
        packets=result["packets"],
        lost=result["lost_writes"],
        resends=result["resends"],
        completion_us=result["simulated_us"],
        problems=problems(result),
    )

"""Cycles of what happens to a frame in a lane, by simulation of the lane as it is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from amaranth.hdl import Value

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.egress.lane import EgressLane
from mrcnic.hdl.ingress.lane import IngressLane
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.headers import ETHERNET, ICRC, IPV6
from mrcnic.sim.bench.packets import to_beats
from mrcnic.sim.bench.streams import simulate
from mrcnic.sim.codec.packet import Packet

from .frames import acknowledgement, descriptor, foreign_frame, lane_settings, write
from .lengths import frame_lengths, packet_lengths
from .player import mean_steps, play, steps

__all__ = ["BLOCKS", "CLOCKS_HZ", "RUNS", "Figure", "measure_datapath"]

#: What lanes are specified for, and what a hard MAC of 100 Gb/s runs at.
CLOCKS_HZ = (250_000_000, 322_265_625)

#: Frames back to back: so many beats of them, but not fewer and not more than so many.
_TRAIN_BEATS, _TRAIN_MIN, _TRAIN_MAX = 160, 4, 20

_MAX_CYCLES = 1_000_000

#: Blocks, by what is measured of them: from where to where, cycles at most, and the clock at which
#: they must keep up with the line. Packets with SRv6 are long; any frame may have 60 octets.
BLOCKS = {
    "insert": ("descriptor", "first beat", 3, CLOCKS_HZ[0]),
    "ICRC make": ("last beat", "last beat", 6, CLOCKS_HZ[0]),
    "egress lane": ("descriptor", "first beat to MAC", None, CLOCKS_HZ[0]),
    "pass out": ("first beat", "first beat to MAC", None, CLOCKS_HZ[1]),
    "parse": ("first beat", "headers", 6, CLOCKS_HZ[0]),
    "decapsulate": ("first beat", "first inner beat", None, CLOCKS_HZ[0]),
    "ICRC check": ("last inner beat", "verdict", 6, CLOCKS_HZ[0]),
    "ingress lane": ("last beat", "descriptor", None, CLOCKS_HZ[0]),
    "pass in": ("last beat", "first beat to host", None, CLOCKS_HZ[1]),
}


@dataclass(frozen=True)
class Figure:
    """What was measured of one block with one kind and length of frame.

    Attributes
    ----------
    block : :class:`str`
        A key of :data:`BLOCKS`.
    kind : :class:`str`
        ``"SRv6"``, ``"IPv6"`` or ``"other"``.
    octets : :class:`int`
        Length of the frame, without check sequence.
    beats : :class:`int`
        Beats that it takes.
    latency : :class:`int`
        Cycles, of a lone frame.
    cycles : :class:`float`
        Cycles per frame, of frames back to back.
    """

    block: str
    kind: str
    octets: int
    beats: int
    latency: int
    cycles: float


def measure_datapath(
    config: NicConfig, *, runs: Iterable[str] | None = None, progress: Callable[[str], None]
) -> list[Figure]:
    """Measure every block with every length.

    Parameters
    ----------
    runs : iterable of :class:`str`, optional
        Only these of :data:`RUNS`.
    progress : callable
        Called with the name of each run that is done.

    Raises
    ------
    RuntimeError
        If a lane loses frames, or none come out.
    """
    figures = []
    for run in RUNS if runs is None else runs:
        figures += RUNS[run](config)
        progress(run)
    order = list(BLOCKS)
    return sorted(figures, key=lambda figure: order.index(figure.block))


class _Opened:
    """Of a lane, also the parts that it is made of, once it is elaborated."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        self.parts = {name: part for name, (part, _) in m._named_submodules.items()}
        return m


class _OpenedEgress(_Opened, EgressLane):
    """A lane on the way out whose parts can be watched."""


class _OpenedIngress(_Opened, IngressLane):
    """A lane on the way in whose parts can be watched."""


def _moves(port, mark: str) -> Value:
    """Return whether a beat moves that is the ``"first"`` or the ``"last"`` of its packet."""
    return port.valid & port.ready & port.payload[mark]


def _train(beats: int) -> int:
    return min(max(_TRAIN_BEATS // beats, _TRAIN_MIN), _TRAIN_MAX)


def _packets(config: NicConfig) -> Iterator[tuple[str, Callable[[int], Packet]]]:
    """Give packets of each kind and length, as functions of their PSN."""
    for kind, srv6 in (("SRv6", True), ("IPv6", False)):
        yield kind, partial(acknowledgement, srv6=srv6)
        empty = len(write(None, srv6=srv6, psn=0).encode())
        for octets in packet_lengths(config.beat_octets, longest=empty + config.mtu):
            if octets > empty:
                yield kind, partial(write, octets, srv6=srv6)


def _bits(octets: bytes, layout: Beat) -> list[int]:
    return [beat.as_bits() for beat in to_beats(octets, layout)]


async def _measure(ctx, config, kind, octets, queues, feeds, watched, blocks) -> list[Figure]:
    """Measure a lone frame, and some back to back; ``queues(count)`` gives what goes in.

    ``blocks`` has, by block, what begins and ends its latency, and what happens once per frame.
    """
    beats = -(-octets // config.beat_octets)
    count = _train(beats)
    *_, (_, _, each) = blocks.values()
    lone = await play(ctx, feeds, queues(1), watched=watched, until=(each, 1))
    many = await play(ctx, feeds, queues(count), watched=watched, until=(each, count))
    return [
        Figure(block, kind, octets, beats, steps(lone, began, ended), mean_steps(many, each))
        for block, (began, ended, each) in blocks.items()
    ]


def _egress(config: NicConfig) -> list[Figure]:
    lane = _OpenedEgress(config)
    figures = []

    async def bench(ctx):
        inserter, maker = lane.parts["inserter"], lane.parts["icrc_maker"]
        watched = {
            "taken": lane.i.valid & lane.i.ready,
            "headers": _moves(inserter.o, "first"),
            "inserted": _moves(inserter.o, "last"),
            "made": maker.o.valid & maker.o.payload.last,
            "offered": _moves(lane.o, "first"),
            "sent": _moves(lane.o, "last"),
        }
        blocks = {
            "insert": ("taken", "headers", "inserted"),
            "ICRC make": ("inserted", "made", "made"),
            "egress lane": ("taken", "offered", "sent"),
        }
        ctx.set(lane.settings, lane_settings())
        ctx.set(lane.up, 1)
        for port in (lane.o, lane.fetch):
            ctx.set(port.ready, 1)
        descriptors, beats = TxDescriptor(config), Beat(config.beat_octets)
        for kind, make in _packets(config):

            def queues(count, make=make):
                packets = [make(psn=psn) for psn in range(count)]
                return [
                    [descriptors.const(descriptor(each)).as_bits() for each in packets],
                    [bits for each in packets for bits in _bits(each.payload, beats)],
                ]

            octets = len(make(psn=0).encode())
            feeds = [lane.i, lane.payload]
            figures.extend(
                await _measure(ctx, config, kind, octets, queues, feeds, watched, blocks)
            )

    simulate(lane, bench, max_cycles=_MAX_CYCLES)
    return figures


def _ingress(config: NicConfig) -> list[Figure]:
    lane = _OpenedIngress(config)
    figures = []

    async def bench(ctx):
        collector, checker = lane.parts["collector"], lane.parts["icrc_checker"]
        inner = lane.parts["decapsulator"].o
        requests, responses = lane.requests, lane.responses
        watched = {
            "first": _moves(lane.i, "first"),
            "last": _moves(lane.i, "last"),
            "inner first": inner.valid & inner.first,
            "inner last": inner.valid & inner.last,
            "to check": checker.i.valid & checker.i.last,
            "checked": checker.o.valid,
            "handed on": (requests.valid & requests.ready) | (responses.valid & responses.ready),
        }
        blocks = {
            "parse": ("first", "parsed", "to check"),
            "decapsulate": ("first", "inner first", "inner last"),
            "ICRC check": ("to check", "checked", "checked"),
            "ingress lane": ("last", "handed on", "handed on"),
        }
        ctx.set(lane.settings, lane_settings())
        for port in (requests, responses, lane.payload):
            ctx.set(port.ready, 1)
        layout = Beat(config.beat_octets, user_shape=1)
        numbers = iter(range(1 << 24))  # no frame has the headers of the one before
        for kind, make in _packets(config):
            lone = make(psn=next(numbers)).encode()

            def queues(count, make=make, lone=lone):
                others = [make(psn=next(numbers)).encode() for _ in range(count - 1)]
                return [[bits for frame in (lone, *others) for bits in _bits(frame, layout)]]

            headers = _inner_headers(make(psn=0), lone)
            parsed = collector.headers[: 8 * len(headers)] == int.from_bytes(headers, "little")
            figures.extend(
                await _measure(
                    ctx, config, kind, len(lone), queues, [lane.i],
                    {**watched, "parsed": parsed}, blocks,
                )
            )  # fmt: skip

    simulate(lane, bench, max_cycles=_MAX_CYCLES)
    return figures


def _inner_headers(packet: Packet, frame: bytes) -> bytes:
    """Return the headers of a packet from the inner IPv6 header on, as they are in its frame."""
    start = ETHERNET.octets + (IPV6.octets if packet.outer else 0)
    return frame[start : len(frame) - ICRC.octets - packet.pad - len(packet.payload)]


def _pass_out(config: NicConfig) -> list[Figure]:
    lane = EgressLane(config)
    return _pass(config, lane, lane.host, lane.o, ("pass out", "first", "offered", "sent"))


def _pass_in(config: NicConfig) -> list[Figure]:
    lane = IngressLane(config)
    return _pass(config, lane, lane.i, lane.host, ("pass in", "last", "offered", "sent"))


def _pass(config: NicConfig, lane, source, sink, block: tuple[str, str, str, str]) -> list[Figure]:
    """Measure frames that are none of the protocol's."""
    figures = []

    async def bench(ctx):
        watched = {
            "first": _moves(source, "first"),
            "last": _moves(source, "last"),
            "offered": _moves(sink, "first"),
            "sent": _moves(sink, "last"),
        }
        ctx.set(lane.settings, lane_settings())
        ctx.set(sink.ready, 1)
        if "up" in lane.signature.members:
            ctx.set(lane.up, 1)
        layout = source.payload.shape()
        for octets in frame_lengths(config.beat_octets):
            frame = _bits(foreign_frame(octets), layout)
            name, *events = block
            figures.extend(
                await _measure(
                    ctx, config, "other", octets, lambda count, frame=frame: [frame * count],
                    [source], watched, {name: tuple(events)},
                )
            )  # fmt: skip

    simulate(lane, bench, max_cycles=_MAX_CYCLES)
    return figures


#: Runs, each with a lane of its own.
RUNS = {"egress": _egress, "pass out": _pass_out, "ingress": _ingress, "pass in": _pass_in}

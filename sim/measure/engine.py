"""Cycles of the engine: packets and news of paths, back to back, by simulation of its rooms."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.outcome import Acknowledgement
from mrcnic.hdl.descriptor.outwards import AllocateRequest, TxRequest, WorkRequest
from mrcnic.hdl.descriptor.settings import MacStatus, TableWrite
from mrcnic.hdl.health.port_monitor import PortMonitor
from mrcnic.hdl.requester.requester import Requester
from mrcnic.hdl.responder.responder import Responder
from mrcnic.hdl.retransmit.buffer import RetransmitBuffer
from mrcnic.hdl.rows import ROWS, Table
from mrcnic.hdl.spray.sprayer import Sprayer
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.srv6 import ENTROPY
from mrcnic.sim.bench.streams import drive, simulate

from .player import mean_steps, play, steps

__all__ = ["ENGINES", "ENGINE_AREAS", "ENGINE_RUNS", "EngineFigure", "measure_engine"]

#: What is measured: from where to where, cycles of latency at most, and cycles between two, of one
#: QP and of several.
ENGINES = {
    "pick": ("request", "packet to lane", None, 3, 1),
    "requester": ("work request", "first packet", None, 3, 3),
    "retransmit": ("packet", "packet to be sent", None, 3, 3),
    "responder": ("write", "verdict", None, 3, 3),
    "SACK to requester": ("SACK", "its content", None, 2, 2),
    "SACK to scoreboard": ("its content", "taken", None, 2, 2),
    "port down": ("status pin", "last pick of the port", 16, None, None),
    "receive clock stops": ("last heartbeat", "last pick of the port", 64, None, None),
}

#: Rooms whose area belongs to these figures.
ENGINE_AREAS = ("spray.sprayer", "health.room", "health.port_monitor")

#: QPs that take turns, and packets in a train: fewer than a QP's work requests, and a window.
_QPS, _TRAIN = 8, 48

_MAX_CYCLES = 1_000_000

#: EVs in each plane: how many there are makes no difference to the time of a pick.
_EVS = 16

#: Cycle of the failure, and of the last heartbeat, while packets come all the time.
_FAILS = 64

#: Packets with payload have this.
_OCTETS = 16

#: A remote key, and a domain.
_RKEY, _DOMAIN = 0xDEADB000, 5


@dataclass(frozen=True)
class EngineFigure:
    """What was measured of one part of the engine.

    Attributes
    ----------
    engine : :class:`str`
        A key of :data:`ENGINES`.
    qps : :class:`int` or None
        QPs that take turns, where that matters.
    latency : :class:`int`
        Cycles of a lone one.
    cycles : :class:`float` or None
        Cycles for each of those that come back to back.
    """

    engine: str
    qps: int | None
    latency: int
    cycles: float | None


def measure_engine(
    config: NicConfig, *, runs: Iterable[str] | None = None, progress: Callable[[str], None]
) -> list[EngineFigure]:
    """Measure every part of the engine.

    Parameters
    ----------
    runs : iterable of :class:`str`, optional
        Only these of :data:`ENGINE_RUNS`.
    progress : callable
        Called with the name of each run that is done.

    Raises
    ------
    RuntimeError
        If something is lost on the way.
    """
    figures = []
    for run in ENGINE_RUNS if runs is None else runs:
        figures += ENGINE_RUNS[run](config)
        progress(run)
    order = list(ENGINES)
    return sorted(figures, key=lambda figure: order.index(figure.engine))


def _bits(layout: data.Layout, value: dict) -> int:
    return layout.const(value).as_bits()


def _row(table: Table, index: int, **fields: int):
    row = int.from_bytes(ROWS[table].pack(**fields), "big")
    return TableWrite().const({"table": table, "index": index, "row": row})


def _qp_row(config: NicConfig, qp: int):
    return _row(
        Table.QP, qp, active=1, qpn=_qpn(config, qp), remote_qpn=0x34, domain=_DOMAIN, mpr=8,
        max_immediates=32, cwnd=(1 << 25) - 1, timeout=19, linear_count=7, exponential_count=7,
        trim_nack=1,
    )  # fmt: skip


def _qpn(config: NicConfig, qp: int) -> int:
    return 0x12 * config.qps + qp


def _moves(port) -> Value:
    return port.valid & port.ready


def _loads(config: NicConfig) -> tuple[int, int]:
    return 1, min(_QPS, config.qps)


async def _measure(
    ctx, engine: str, config: NicConfig, feed, make, began: Value, ended: Value, *,
    each: Value | None = None, prepare=None, train: int = _TRAIN,
) -> list[EngineFigure]:  # fmt: skip
    """Measure a lone one and a train, of one QP and of several.

    Parameters
    ----------
    make : callable
        ``make(qp, n)`` returns the n-th of a QP, as a number.
    began, ended, each : Value
        Between what lies the latency; what there is once of each, if that is not ``ended``.
    prepare : callable
        Coroutine function that lets QPs start anew before each load.
    """
    figures = []
    watched = {"began": began, "ended": ended, "each": ended if each is None else each}
    number = [0] * config.qps
    for qps in _loads(config):
        if prepare:
            number = [0] * config.qps
            await prepare()

        def several(count, qps=qps, number=number):
            items = []
            for n in range(count):
                items.append(make(n % qps, number[n % qps]))
                number[n % qps] += 1
            return items

        count = train if qps == 1 else _TRAIN
        lone = await play(ctx, [feed], [several(1)], watched=watched, until=("each", 1))
        many = await play(ctx, [feed], [several(count)], watched=watched, until=("each", count))
        # What waits in queues on the way comes faster, and is not what counts.
        full = {name: cycles[len(cycles) // 4 :] for name, cycles in many.items()}
        cycles = max(mean_steps(full, "began"), mean_steps(full, "each"))
        figures.append(EngineFigure(engine, qps, steps(lone, "began", "ended"), cycles))
    return figures


def _spray(config: NicConfig) -> list[EngineFigure]:
    config = replace(config, lanes=max(2, config.lanes))
    m = Module()
    m.submodules.spray = spray = Sprayer(config)
    m.submodules.monitor = monitor = PortMonitor(config)
    m.d.sync += monitor.now.eq(monitor.now + 1)
    # Port 0 is as its monitor says, the others are up.
    m.d.comb += spray.port_up.eq((1 << config.lanes) - 2 | monitor.up)
    to_lane = Signal()
    m.d.comb += to_lane.eq(Cat(_moves(o) for o in spray.o).any())
    figures = []

    def make(qp, n):
        return _bits(TxRequest(config), {"qp": qp, "psn": n, "opcode": Opcode.WRITE_ONLY})

    async def bench(ctx):
        for port in (*spray.o, spray.watch, spray.news):
            ctx.set(port.ready, 1)
        await drive(ctx, spray.table, _profile(config))
        _raise(ctx, monitor)
        await ctx.tick().until(monitor.up)
        figures.extend(
            await _measure(
                ctx, "pick", config, spray.i, make,
                _moves(spray.i), to_lane, each=spray.picked_valid,
            )
        )  # fmt: skip

        def fail(cycle):
            ctx.set(monitor.mac.heartbeat, cycle // 16 % 2)
            if cycle == _FAILS:
                ctx.set(monitor.mac.local_fault, 1)

        def stop(cycle):
            if cycle <= _FAILS:
                ctx.set(monitor.mac.heartbeat, cycle // 16 % 2)

        for engine, act in (("port down", fail), ("receive clock stops", stop)):
            last = await _last_pick(ctx, config, spray, make, act)
            figures.append(EngineFigure(engine, None, last - _FAILS, None))
            _raise(ctx, monitor)
            while not ctx.get(monitor.up):
                ctx.set(monitor.mac.heartbeat, ~ctx.get(monitor.mac.heartbeat))
                await ctx.tick()

    simulate(m, bench, max_cycles=_MAX_CYCLES)
    return figures


def _profile(config: NicConfig) -> Iterator:
    """Give rows of a profile, and of the QPs that use it."""
    for ev in range(config.evs):
        plane, local = divmod(ev, config.evs_per_plane)
        if local < _EVS:
            value = int.from_bytes(ENTROPY.pack(prefix=0xC0, index=ev, plane=plane, uplink=1))
            yield _row(Table.EV, ev, valid=1, active=1, ev=value)
    for qp in range(min(_QPS, config.qps)):
        yield _qp_row(config, qp)


def _raise(ctx, monitor: PortMonitor):
    """Let a port's signs be good."""
    pins = dict.fromkeys(MacStatus().members, 0)
    lock = (1 << 20) - 1
    pins |= {"aligned": 1, "fec_lock": 1, "block_lock": lock}
    for name, value in pins.items():
        if name != "heartbeat":
            ctx.set(monitor.mac[name], value)
    ctx.set(monitor.settings.port[0].enable, 1)
    ctx.set(monitor.settings.port[0].lock_lanes, lock)
    ctx.set(monitor.settings.hold_off, 1)
    ctx.set(monitor.settings.error_leak, 1)


async def _last_pick(ctx, config, spray, make, act: Callable[[int], None]) -> int:
    """Return the cycle of the last pick of plane 0, with packets all the time."""
    last, number = 0, 0
    for cycle in range(_FAILS + 120):
        act(cycle)
        ctx.set(Value.cast(spray.i.payload), make(number % min(_QPS, config.qps), number))
        ctx.set(spray.i.valid, 1)
        number += ctx.get(spray.i.ready)
        if ctx.get(spray.picked_valid) and ctx.get(spray.picked.plane) == 0:
            last = cycle
        await ctx.tick()
    ctx.set(spray.i.valid, 0)
    if last < _FAILS - 8 or last > _FAILS + 100:
        raise RuntimeError(f"plane 0 was picked for the last time in cycle {last} of {cycle}")
    return last


def _requester(config: NicConfig) -> list[EngineFigure]:
    dut = Requester(config)
    qps = range(min(_QPS, config.qps))
    figures = []

    def work(qp, n, packets=1):
        octets = _OCTETS if packets == 1 else 256 * packets
        return _bits(WorkRequest(config), {"qp": qp, "identifier": n, "octets": octets})

    def sack(qp, n):
        seth = {"cack_psn": 1, "sack_offset": 1, "sack_bitmap": n % 4}
        return _bits(
            RxDescriptor(config),
            {"opcode": Opcode.SACK, "dqp": _qpn(config, qp), "body": {"sack": {"seth": seth}}},
        )

    async def bench(ctx):
        outputs = (
            "o", "allocate", "stopped", "acknowledgement", "nack", "ev_events", "probe",
            "probe_answers",
        )  # fmt: skip
        for name in outputs:
            ctx.set(getattr(dut, name).ready, 1)

        async def prepare():
            await drive(ctx, dut.table, [_qp_row(config, qp) for qp in qps])

        figures.extend(
            await _measure(
                ctx, "requester", config, dut.i, work, _moves(dut.i), _moves(dut.allocate),
                prepare=prepare, train=config.send_queue - 2,
            )
        )  # fmt: skip
        await prepare()
        for qp in qps:
            watched = {"packet": _moves(dut.allocate)}
            await play(ctx, [dut.i], [[work(qp, 0, 8)]], watched=watched, until=("packet", 8))
        figures.extend(
            await _measure(
                ctx, "SACK to requester", config, dut.responses, sack,
                _moves(dut.responses), _moves(dut.acknowledgement),
            )
        )  # fmt: skip

    simulate(dut, bench, max_cycles=_MAX_CYCLES)
    return figures


def _retransmit(config: NicConfig) -> list[EngineFigure]:
    m = Module()
    m.submodules.buffer = buffer = RetransmitBuffer(config)
    # Memory answers at once, with the single beat that a packet has; so does who picks paths.
    for fetch, store in zip(buffer.fetch, buffer.store, strict=True):
        m.d.comb += [
            store.valid.eq(fetch.valid),
            store.payload.slot.eq(fetch.payload.slot),
            store.payload.last.eq(1),
            fetch.ready.eq(store.ready),
        ]
    m.d.sync += buffer.picked_valid.eq(_moves(buffer.send))
    for name in ("qp", "opcode", "psn", "slot", "octets"):
        m.d.sync += buffer.picked[name].eq(buffer.send.payload[name])
    figures = []

    def packet(qp, n):
        fields = {"qp": qp, "psn": n, "octets": _OCTETS, "opcode": Opcode.WRITE_ONLY}
        return _bits(AllocateRequest(config), fields)

    def content(qp, n):
        fields = {"qp": qp, "cack": 0, "base": 1, "bitmap": n % 4}
        return _bits(Acknowledgement(config), fields)

    async def bench(ctx):
        for name in ("send", "retired", "ev_events", "probe", "failed"):
            ctx.set(getattr(buffer, name).ready, 1)
        ctx.set(buffer.port_up, -1)
        qps = range(min(_QPS, config.qps))
        await drive(ctx, buffer.table, [_qp_row(config, qp) for qp in qps])
        for engine, feed, make, ended in (
            ("retransmit", buffer.allocate, packet, _moves(buffer.send)),
            ("SACK to scoreboard", buffer.acknowledgement, content, None),
        ):
            began = _moves(feed)
            ended = began if ended is None else ended
            figures.extend(await _measure(ctx, engine, config, feed, make, began, ended))

    simulate(m, bench, max_cycles=_MAX_CYCLES)
    return figures


def _responder(config: NicConfig) -> list[EngineFigure]:
    dut = Responder(config)
    figures = []

    def write(qp, n):
        body = {"reth": {"va": 0x1000 + _OCTETS * n, "rkey": _RKEY, "dmalen": _OCTETS}}
        body["meth"] = {"msn": n}
        return _bits(
            RxDescriptor(config),
            {
                "opcode": Opcode.WRITE_ONLY, "dqp": _qpn(config, qp), "psn": n, "octets": _OCTETS,
                "payload": 1, "body": {"write": body},
            },
        )  # fmt: skip

    async def bench(ctx):
        for port in (dut.reports, dut.o, *dut.verdict):
            ctx.set(port.ready, 1)
        ctx.set(dut.settings.sack_threshold, 16_384)
        rows = [_qp_row(config, qp) for qp in range(min(_QPS, config.qps))]
        region = {"valid": 1, "remote_write": 1, "rkey": _RKEY, "octets": 1 << 32}
        rows.append(_row(Table.REGION, _RKEY % config.regions, domain=_DOMAIN, **region))
        await drive(ctx, dut.table, rows)
        placed = _moves(dut.verdict[0])
        figures.extend(
            await _measure(ctx, "responder", config, dut.i, write, _moves(dut.i), placed)
        )

    simulate(dut, bench, max_cycles=_MAX_CYCLES)
    return figures


#: By name, what is simulated at a time.
ENGINE_RUNS = {
    "spray": _spray,
    "requester": _requester,
    "retransmit": _retransmit,
    "responder": _responder,
}

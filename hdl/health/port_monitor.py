"""Whether packets may leave by a port."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import cdc, data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import MacStatus, Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .error_bucket import ErrorBucket

__all__ = ["PortMonitor"]

#: Flip-flops between a pin and the logic.
_STAGES = 2


class PortMonitor(wiring.Component):
    """Take a port down at the first bad sign, and up when all signs have been good for a time.

    Signs are the MAC's pins, the receive clock, the host's ``enable`` and, if the host asks for
    that, the rate of errors. A pin brings ``up`` down 3 cycles after it changes, ``enable`` in the
    next cycle. ``up`` comes when the signs have been good without a break while ``now`` changed
    ``settings.hold_off`` times, and 2 cycles more; with ``loop_probes`` of the port set, not
    before ``proven``, either. After ``enable`` has been off the hold-off starts anew, so that a
    port that is enabled again always comes up with an event of its own.

    A receive clock that stops leaves the pins as they were, so it has a watchdog of its own, in
    the engine's clock: ``watchdog_cycles`` without a change of the heartbeat mean that the clock
    stands still, 3 cycles for the pin included. Its first change arms the watchdog; a MAC without
    heartbeat never does.

    Pins are sampled: a pulse shorter than a cycle of the engine has to be stretched by the board.
    Every fall of ``up`` is one ``port_down``, however short it is, which makes its counter the
    flap counter; a port that never came up does not go down.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Number of the port.
    watchdog_cycles : :class:`int`
        Patience with the heartbeat, from 8 to 64.
    heartbeat_required : :class:`bool`
        The watchdog is armed from the start: without heartbeat the port never comes up.

    Members
    -------
    mac : ``In(MacStatus())``
        Pins.
    settings : ``In(Settings(config))``
        ``hold_off``, what concerns errors, and the port's ``enable``, ``lock_lanes`` and
        ``loop_probes``.
    now : ``In(NOW_BITS)``
        Time, in ticks.
    proven : ``In(1)``
        Probes have come back by this port since ``open`` was set; see
        :class:`~.loop_prober.LoopProber`.
    open : ``Out(1)``
        The signs are good: what is sent has a chance to arrive. Probes may leave, packets not yet.
    up : ``Out(1)``
        Packets may leave.
    link, remote, clock, degraded : ``Out(1)``
        Live signs: the MAC receives; the other end reports no fault; the receive clock runs;
        there are too many errors.
    events : ``Out``
        ``port_up``, ``port_down``, and ``port_degraded`` each time that errors become too many.

    Raises
    ------
    ValueError
        If ``port`` or ``watchdog_cycles`` is out of its limits.
    """

    def __init__(
        self,
        config: NicConfig,
        *,
        port: int = 0,
        watchdog_cycles: int = 48,
        heartbeat_required: bool = False,
    ):
        self.config = config
        self.port = index(port)
        self.watchdog_cycles = index(watchdog_cycles)
        self.heartbeat_required = bool(heartbeat_required)
        if self.port not in range(config.lanes):
            raise ValueError(f"port must be from 0 to {config.lanes - 1}, not {port}")
        if self.watchdog_cycles not in range(8, 65):
            raise ValueError(f"watchdog_cycles must be from 8 to 64, not {watchdog_cycles}")
        super().__init__({
            "mac": In(MacStatus()),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "proven": In(1),
            "open": Out(1),
            "up": Out(1),
            "link": Out(1),
            "remote": Out(1),
            "clock": Out(1),
            "degraded": Out(1),
            "events": Out(
                data.StructLayout(dict.fromkeys(("port_up", "port_down", "port_degraded"), 1))
            ),
        })

    def elaborate(self, platform):
        m = Module()

        pins = Signal(MacStatus())
        for name, _ in MacStatus():
            m.submodules[f"sync_{name}"] = cdc.FFSynchronizer(
                self.mac[name], pins[name], stages=_STAGES
            )
        port = self.settings.port[self.port]

        locked = (~pins.block_lock & port.lock_lanes) == 0
        m.d.comb += self.link.eq(
            pins.aligned & pins.fec_lock & locked & ~pins.local_fault & ~pins.hi_ber
        )
        m.d.comb += self.remote.eq(~pins.remote_fault)
        m.d.comb += self.clock.eq(self._watch_clock(m, pins.heartbeat))
        self._count_errors(m, pins)
        good = Signal()
        m.d.comb += good.eq(
            self.link
            & self.remote
            & self.clock
            & port.enable
            & ~(self.degraded & self.settings.degraded_down)
        )
        m.d.sync += self.open.eq(good)

        # Ticks for which everything has been good.
        last = Signal.like(self.now)
        held = Signal(len(self.settings.hold_off))
        long_enough = Signal()
        m.d.sync += last.eq(self.now)
        with m.If(~good):
            m.d.sync += held.eq(0)
            m.d.sync += long_enough.eq(0)
        with m.Else():
            with m.If((self.now != last) & ~long_enough):
                m.d.sync += held.eq(held + 1)
            m.d.sync += long_enough.eq(held >= self.settings.hold_off)

        may = Signal()
        m.d.comb += may.eq(long_enough & (self.up | self.proven | ~port.loop_probes))
        m.d.sync += self.up.eq(good & may)
        m.d.sync += self.events.port_up.eq(good & may & ~self.up)
        m.d.sync += self.events.port_down.eq(self.up & ~good)

        return m

    def _watch_clock(self, m, heartbeat):
        """Return whether the receive clock runs."""
        # Cycles left. The synchroniser has used up some before the first.
        patience = Signal(range(self.watchdog_cycles))
        armed = Signal(init=self.heartbeat_required)
        heard = Signal()
        m.d.sync += heard.eq(heartbeat)
        with m.If(heard != heartbeat):
            m.d.sync += armed.eq(1)
            m.d.sync += patience.eq(self.watchdog_cycles - _STAGES - 2)
        with m.Elif(patience != 0):
            m.d.sync += patience.eq(patience - 1)
        return ~armed | (patience != 0)

    def _count_errors(self, m, pins):
        """Feed the bucket with what the pins count. Errors of a link that is down do not count."""
        m.submodules.bucket = bucket = ErrorBucket(self.config)
        count = Signal.like(pins.symbol_errors)  # out of Gray code
        m.d.comb += count[-1].eq(pins.symbol_errors[-1])
        for n in reversed(range(len(count) - 1)):
            m.d.comb += count[n].eq(pins.symbol_errors[n:].xor())
        before, uncorrected_before = Signal.like(count), Signal()
        degraded_before = Signal()
        m.d.sync += [
            before.eq(count),
            uncorrected_before.eq(pins.uncorrected),
            degraded_before.eq(bucket.degraded),
            self.events.port_degraded.eq(bucket.degraded & ~degraded_before),
        ]
        m.d.comb += [
            bucket.symbols.eq(count - before),
            bucket.uncorrected.eq(pins.uncorrected ^ uncorrected_before),
            bucket.enable.eq(self.link),
            bucket.settings.eq(self.settings),
            bucket.now.eq(self.now),
            self.degraded.eq(bucket.degraded),
        ]

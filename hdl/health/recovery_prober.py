"""Probes of links that are masked, and of planes that rest."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import RECOVERY_PROBE, RESTS, EndpointSend, Operation, ProbeEcho, ProbeWatch, Proven
from .watch_row import ANSWERS, BACKOFFS

__all__ = ["RecoveryProber"]

#: Times are kept in units of so many bits less than ``now``, 8 ticks or 1.024 us, and in so many
#: bits, half of which, 33.5 ms, are told apart.
_UNIT_BITS, _WHEN_BITS = 3, 16

#: Longest wait, in units.
_LONGEST = (1 << _WHEN_BITS - 1) - 64

_PLACES = LINKS + RESTS

_NUMBER_BITS = 15 - (_PLACES - 1).bit_length()

#: Answers that wait. The walk is slower than answers may come, but each place has only one probe.
_ANSWERS_WAITING = _PLACES


class _Kind:
    WALK, WATCH, ANSWER = range(3)


class RecoveryProber(wiring.Component):
    """Probe each link that is masked, and each plane that rests, until it works again.

    That is when three answers in a row have come back. A probe takes a path that the link is part
    of, or any one of the plane, by chance, and the remote NIC answers it. The first leaves at once.
    Without an answer within ``settings.probe_timeout`` the next one leaves
    ``settings.retire_delay`` later, and each further one after twice that time, up to
    ``settings.retire_delay_max``; after an answer it leaves ``settings.probe_interval`` later. All
    times are up to 2.1 us longer than said. No probe leaves by a port that is down. Without
    ``settings.link_inference`` all links are forgotten.

    What is probed takes turns, 4 cycles each.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    watch : ``In(stream.Signature(ProbeWatch(config)))``
        What is to be probed from now on.
    proven : ``Out(stream.Signature(Proven(config)))``
        What works.
    sends : ``Out(stream.Signature(EndpointSend(config)))``
        Probes.
    echo : ``In(ProbeEcho(config))``
        Answers; those to other probes are left alone.
    port_up : ``In(lanes)``
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    events : ``Out``
        ``recovery_probe_sent``, ``recovery_probe_unanswered``; ``recovery_probe_stale``: an answer
        to no probe that is under way.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = ("recovery_probe_sent", "recovery_probe_unanswered", "recovery_probe_stale")
        super().__init__({
            "watch": In(stream.Signature(ProbeWatch(config))),
            "proven": Out(stream.Signature(Proven(config))),
            "sends": Out(stream.Signature(EndpointSend(config))),
            "echo": In(ProbeEcho(config)),
            "port_up": In(config.lanes),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        layout = data.StructLayout({
            "active": 1,
            "waiting": 1,  # a probe is out
            "answers": range(ANSWERS),
            "backoff": range(BACKOFFS + 1),
            "number": _NUMBER_BITS,
            "when": _WHEN_BITS,  # it is due, or lost
            "peer": index_bits(self.config.peers),
            "plane": index_bits(self.config.lanes),
            "fixed": 1,
            "ev": 32,
        })
        m.submodules.watched = rows = DeepMemory(layout, depth=_PLACES)
        m.submodules.answers = answers = SyncFIFOBuffered(width=15, depth=_ANSWERS_WAITING)
        m.d.comb += [
            answers.w_data.eq(self.echo.identifier),
            answers.w_en.eq(self.echo.valid & ((self.echo.identifier & RECOVERY_PROBE) != 0)),
        ]

        # What is next, and where; then its row; then what becomes of it.
        kind, place, number = Signal(2), Signal(range(_PLACES)), Signal(_NUMBER_BITS)
        walk = Signal(range(_PLACES))
        before, after, wait = Signal(layout), Signal(layout), Signal(_WHEN_BITS)
        with m.FSM() as fsm:
            with m.State("CLEAR"):
                m.d.sync += walk.eq(walk + 1)
                with m.If(walk == _PLACES - 1):
                    m.next = "CHOOSE"
            with m.State("CHOOSE"):
                self._choose(m, kind, place, number, walk, answers)
                m.next = "READ"
            with m.State("READ"):
                m.next = "LOOK"
            with m.State("LOOK"):
                m.d.sync += [before.eq(rows.data[0]), wait.eq(self._wait(rows.data[0].backoff))]
                m.next = "ACT"
            with m.State("ACT"):
                m.next = "CHOOSE"
        clears, acts = fsm.ongoing("CLEAR"), fsm.ongoing("ACT")
        m.d.comb += [
            self.watch.ready.eq(fsm.ongoing("CHOOSE")),
            answers.r_en.eq(fsm.ongoing("CHOOSE") & ~self.watch.valid),
            rows.row[0].eq(place),
            rows.write.valid.eq(clears | acts),
            rows.write.row.eq(Mux(clears, walk, place)),
            rows.write.data.eq(Mux(clears, 0, after.as_value())),
        ]
        does = Signal(data.StructLayout({"sends": 1, "loses": 1, "ends": 1, "stale": 1}))
        m.d.comb += does.stale.eq(kind == _Kind.ANSWER)
        self._change(m, does, kind, place, number, before, after, wait)
        self._tell(m, acts, does, place, after)
        return m

    def _choose(self, m, kind, place, number, walk, answers):
        m.d.sync += number.eq(answers.r_data)
        with m.If(self.watch.valid):
            m.d.sync += [kind.eq(_Kind.WATCH), place.eq(self.watch.payload.place)]
        with m.Elif(answers.r_rdy):
            m.d.sync += [kind.eq(_Kind.ANSWER), place.eq(answers.r_data[_NUMBER_BITS:])]
        with m.Else():
            m.d.sync += [kind.eq(_Kind.WALK), place.eq(walk), walk.eq(walk + 1)]

    def _wait(self, backoff):
        """Return how long to wait after a probe that was not answered."""
        wait = self.settings.retire_delay << backoff
        return self._units(
            Mux(wait < self.settings.retire_delay_max, wait, self.settings.retire_delay_max)
        )

    @staticmethod
    def _units(ticks):
        units = ticks >> _UNIT_BITS
        return Mux(units > _LONGEST, _LONGEST, units)

    def _change(self, m, does, kind, place, number, before, after, wait):
        """Say what becomes of a row."""
        offered = Signal.like(self.watch.payload)
        with m.If(self.watch.valid & self.watch.ready):
            m.d.sync += offered.eq(self.watch.payload)
        now, passed = Signal(_WHEN_BITS), Signal(_WHEN_BITS)
        m.d.comb += now.eq(self.now[_UNIT_BITS : _UNIT_BITS + _WHEN_BITS])
        m.d.comb += passed.eq(now - before.when)
        port_up = ((Const(1, self.config.lanes) << before.plane) & self.port_up).any()
        m.d.comb += after.eq(before)
        with m.Switch(kind):
            with m.Case(_Kind.WATCH):
                m.d.comb += [after.active.eq(1), after.waiting.eq(0), after.when.eq(now)]
                m.d.comb += [after.answers.eq(0), after.backoff.eq(0)]
                for name in ("peer", "plane", "fixed", "ev"):
                    m.d.comb += after[name].eq(offered[name])
            with (
                m.Case(_Kind.ANSWER),
                m.If(before.active & before.waiting & (before.number == number)),
            ):
                m.d.comb += [
                    does.stale.eq(0),
                    does.ends.eq(before.answers == ANSWERS - 1),
                    after.active.eq(~does.ends),
                    after.waiting.eq(0),
                    after.answers.eq(before.answers + 1),
                    after.backoff.eq(0),
                    after.when.eq(now + self._units(self.settings.probe_interval) + 1),
                ]
            with m.Case(_Kind.WALK), m.If(before.active & ~passed[-1]):
                m.d.comb += after.when.eq(now)  # still due, if nothing can be sent
                with m.If(before.waiting):
                    m.d.comb += [
                        does.loses.eq(1),
                        after.waiting.eq(0),
                        after.answers.eq(0),
                        after.backoff.eq(before.backoff + (before.backoff != BACKOFFS)),
                        after.when.eq(now + wait + 1),
                    ]
                with m.Elif(port_up & ~self.sends.valid):
                    m.d.comb += [
                        does.sends.eq(1),
                        after.waiting.eq(1),
                        after.number.eq(before.number + 1),
                        after.when.eq(now + self._units(self.settings.probe_timeout) + 1),
                    ]
        with m.If(~self.settings.link_inference & (place < LINKS)):
            m.d.comb += [after.active.eq(0), does.ends.eq(0), does.sends.eq(0)]

    def _tell(self, m, acts, does, place, after):
        send = self.sends.payload
        m.d.comb += [
            self.events.recovery_probe_sent.eq(acts & does.sends),
            self.events.recovery_probe_unanswered.eq(acts & does.loses),
            self.events.recovery_probe_stale.eq(acts & does.stale),
        ]
        with m.If(self.proven.ready):
            m.d.sync += self.proven.valid.eq(0)
        with m.If(acts & does.ends):
            m.d.sync += [
                self.proven.valid.eq(1),
                self.proven.payload.place.eq(place),
                self.proven.payload.peer.eq(after.peer),
                self.proven.payload.plane.eq(after.plane),
            ]
        with m.If(self.sends.ready):
            m.d.sync += self.sends.valid.eq(0)
        with m.If(acts & does.sends):
            m.d.sync += [
                self.sends.valid.eq(1),
                send.peer.eq(after.peer),
                send.plane.eq(after.plane),
                send.fixed.eq(after.fixed),
                send.ev.eq(after.ev),
                send.operation.eq(Operation.PROBE),
                send.identifier.eq(Cat(after.number, place, 1)),
            ]

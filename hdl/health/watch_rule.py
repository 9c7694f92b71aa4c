"""What becomes of the row of an EV that is probed."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire.serial import ahead

from .watch_row import (
    ANSWERS,
    BACKOFFS,
    UNIT_BITS,
    WHEN_BITS,
    WatchOperation,
    WatchOperationKind,
    WatchRow,
)

__all__ = ["WatchRule"]

#: Longest wait, in units: below half of what is told apart, whatever the walk takes.
_LONGEST = (1 << WHEN_BITS - 1) - 64


class WatchRule(wiring.Component):
    """Apply an operation to a row (docs/protocol.md, "EV states"). Combinational but for waits.

    The first probe is due ``settings.retire_delay`` after the EV has gone out of use. Each probe
    that is not answered doubles the wait for the next, up to ``settings.retire_delay_max``; an
    answer makes it ``retire_delay`` again. After three answers in a row the EV is watched no more.
    No wait is longer than 16 ms, and each is up to two units of 8.2 us longer than said.

    An answer counts only if it has the number of the probe that is out; when the EV goes out of
    use once more, none is out any longer. A row whose probe is due and may not be sent yet stays
    due, however long that takes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    operation : ``In(WatchOperation(config))``
    before, after : ``In(WatchRow())``, ``Out(WatchRow())``
        The row.
    may_send, number : ``In(1)``, ``In(8)``
        A probe may be sent, with this number.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    send, hit, ended : ``Out(1)``
        Send a probe; the answer, or the lack of one, counts; the EV is watched no more.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "operation": In(WatchOperation(config)),
            "before": In(WatchRow()),
            "after": Out(WatchRow()),
            "may_send": In(1),
            "number": In(8),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "send": Out(1),
            "hit": Out(1),
            "ended": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        waits = Array(Signal(WHEN_BITS, name=f"wait_{n}") for n in range(BACKOFFS + 1))
        for n, wait in enumerate(waits):
            shifted = self.settings.retire_delay << n
            units = self.settings.retire_delay_max >> UNIT_BITS
            with m.If(shifted < self.settings.retire_delay_max):
                m.d.sync += wait.eq(shifted >> UNIT_BITS)
                with m.If(shifted >> UNIT_BITS > _LONGEST):
                    m.d.sync += wait.eq(_LONGEST)
            with m.Else():
                m.d.sync += wait.eq(units)
                with m.If(units > _LONGEST):
                    m.d.sync += wait.eq(_LONGEST)

        units_now = self.now[UNIT_BITS : UNIT_BITS + WHEN_BITS]
        before, after = self.before, self.after
        due, longer = Signal(), Signal.like(before.backoff)
        m.d.comb += [
            due.eq((before.answers != 0) & ~before.waiting & (ahead(units_now, before.when) >= 0)),
            self.hit.eq(
                (before.answers != 0) & before.waiting & (before.when[:8] == self.operation.number)
            ),
            longer.eq(before.backoff + (before.backoff != BACKOFFS)),
            after.eq(before),
        ]
        with m.Switch(self.operation.kind):
            with m.Case(WatchOperationKind.WALK):
                m.d.comb += self.send.eq(due & self.may_send)
                with m.If(self.send):
                    m.d.comb += [after.waiting.eq(1), after.when.eq(self.number)]
                with m.Elif(due):
                    m.d.comb += after.when.eq(units_now)
            with m.Case(WatchOperationKind.WATCH):
                self._start(m, 1, 0, units_now + waits[0] + 1)
            with m.Case(WatchOperationKind.ANSWERED):
                m.d.comb += self.ended.eq(self.hit & (before.answers == ANSWERS))
                with m.If(self.hit):
                    # Past the last answer the count is 0 again, which ends the watch.
                    self._start(m, before.answers + 1, 0, units_now + waits[0] + 1)
            with m.Case(WatchOperationKind.UNANSWERED), m.If(self.hit):
                self._start(m, 1, longer, units_now + waits[longer] + 1)
            with m.Case(WatchOperationKind.CLEAR):
                m.d.comb += after.answers.eq(0)

        return m

    def _start(self, m, answers, backoff, when):
        """No probe is out, and the next is due then."""
        m.d.comb += [
            self.after.answers.eq(answers),
            self.after.waiting.eq(0),
            self.after.backoff.eq(backoff),
            self.after.when.eq(when),
        ]

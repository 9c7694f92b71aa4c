"""How long a bad EV stays out of use."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.packet.pending_set import PendingSet

from .links import Failure

__all__ = ["Retirement", "Sentence"]

#: Failures that may wait, and how many may be on their way when the room is asked for.
_QUEUE = 8
_MARGIN = 4

#: Doublings of the delay that are counted.
_DOUBLINGS = 15


class Sentence(data.StructLayout):
    """What is on record of an EV.

    Members
    -------
    out : 1
        It is out of use since ``since``; otherwise, with ``times`` not 0, it is back since then.
    times : 4
        Times it has failed, without a long enough good time in between; at most 15.
    since : NOW_BITS
        Reading of ``now``.
    """

    def __init__(self):
        super().__init__({"out": 1, "times": range(_DOUBLINGS + 1), "since": NOW_BITS})


class Retirement(wiring.Component):
    """Let bad EVs return after a delay, which doubles each time they fail again.

    The delay is ``settings.retire_delay`` the first time and never more than
    ``settings.retire_delay_max``. An EV that has been back for longer than its last delay has
    its record cleared, so the next failure counts as the first.

    A walk looks at the EVs of each QP that has any on record, 4 cycles for each; so a return comes
    as much later as the walk takes, 4 * ``evs`` cycles for each such QP. A time is only ever
    compared while its QP is walked, which is far more often than ``now`` wraps: an EV that has
    been good for hours has no time to be misread.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    failures : ``In(stream.Signature(Failure(config)))``
        EVs that have just gone out of use. Always ready if ``room`` was set three cycles before.
    room : ``Out(1)``
        There is room for 4 failures.
    forget : ``In(stream.Signature(qp))``
        Clear the record of a QP, which takes ``evs`` cycles; taken when it is done.
    returns : ``Out(stream.Signature(Failure(config)))``
        EVs that are to be used again.
    settings : ``In(Settings(config))``
        Delays.
    now : ``In(NOW_BITS)``
        Time, in ticks.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "failures": In(stream.Signature(Failure(config))),
            "room": Out(1),
            "forget": In(stream.Signature(index_bits(config.qps))),
            "returns": Out(stream.Signature(Failure(config))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.queue = queue = SyncFIFOBuffered(width=Failure(config).size, depth=_QUEUE)
        m.d.comb += [
            self.failures.ready.eq(queue.w_rdy),
            queue.w_en.eq(self.failures.valid),
            queue.w_data.eq(self.failures.payload),
            self.room.eq(queue.level <= _QUEUE - _MARGIN),
        ]
        failure = data.View(Failure(config), queue.r_data)

        # Rows: qp * 2**bits + ev_index. QPs with something on record wait in a set.
        ev_bits = index_bits(config.evs)
        m.submodules.records = records = DeepMemory(Sentence(), depth=config.qps << ev_bits)
        m.submodules.walk = walk = PendingSet(count=config.qps)
        ev_index = Signal(ev_bits)
        subject = Signal(Failure(config))
        last = Signal()
        m.d.comb += last.eq(ev_index == config.evs - 1)
        m.d.comb += records.row[0].eq(subject.qp << ev_bits | subject.ev_index)
        record = records.data[0]
        m.d.comb += records.write.row.eq(records.row[0])

        # What the record says, a cycle after it has come.
        age = Signal(NOW_BITS)
        delay = Signal(NOW_BITS)
        served = Signal()
        delays = self._delays(m)
        m.d.sync += age.eq(self.now - record.since)
        m.d.sync += delay.eq(delays[Mux(record.out, record.times, record.times - 1)[:4]])
        m.d.comb += served.eq(age >= delay)

        failing = Signal()  # the subject comes from the queue, not from the walk
        kept = Signal()  # the QP that is walked still has something on record
        with m.FSM() as fsm:
            with m.State("NEXT"):
                m.d.sync += failing.eq(queue.r_rdy)
                with m.If(queue.r_rdy):
                    m.d.sync += subject.eq(failure)
                    m.next = "READ"
                with m.Elif(self.forget.valid & (ev_index == 0)):
                    m.d.sync += subject.qp.eq(self.forget.payload)
                    m.d.sync += subject.ev_index.eq(0)
                    m.next = "FORGET"
                with m.Elif(walk.o.valid):
                    m.d.sync += subject.qp.eq(walk.o.payload)
                    m.d.sync += subject.ev_index.eq(ev_index)
                    m.next = "READ"
            with m.State("READ"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.next = "NEXT"
                with m.If(failing):
                    m.d.comb += queue.r_en.eq(1)
                    m.d.comb += walk.add[0].valid.eq(1)
                    self._write(m, records, out=1, times=record.times)
                with m.Else():
                    m.d.sync += ev_index.eq(Mux(last, 0, ev_index + 1))
                    keep = kept | record.out | (record.times != 0)
                    m.d.sync += kept.eq(keep & ~last)
                    m.d.comb += walk.o.ready.eq(last)
                    m.d.comb += walk.add[0].valid.eq(last & keep)
                    with m.If(record.out & served):
                        m.next = "RETURN"
                    with m.Elif((record.times != 0) & ~record.out & served):
                        self._write(m, records, out=0, times=0)
            with m.State("RETURN"), m.If(self.returns.ready):
                more = record.times != _DOUBLINGS
                self._write(m, records, out=0, times=record.times + more)
                m.next = "NEXT"
            with m.State("FORGET"):
                self._write(m, records, out=0, times=0)
                m.d.sync += subject.ev_index.eq(subject.ev_index + 1)
                with m.If(subject.ev_index == config.evs - 1):
                    m.d.comb += self.forget.ready.eq(1)
                    m.next = "NEXT"
        m.d.comb += self.returns.valid.eq(fsm.ongoing("RETURN"))
        m.d.comb += walk.add[0].index.eq(subject.qp)
        m.d.comb += self.returns.payload.eq(subject)

        return m

    def _delays(self, m):
        """Return the delay after each number of failures: twice the one before, up to the limit."""
        limit = self.settings.retire_delay_max
        delays = Array(Signal(NOW_BITS, name=f"delay_{n}") for n in range(_DOUBLINGS + 1))
        m.d.sync += delays[0].eq(
            Mux(self.settings.retire_delay < limit, self.settings.retire_delay, limit)
        )
        for n in range(_DOUBLINGS):
            doubled = delays[n] << 1
            m.d.sync += delays[n + 1].eq(Mux(doubled < limit, doubled, limit))
        return delays

    def _write(self, m, records, *, out, times):
        m.d.comb += [
            records.write.valid.eq(1),
            records.write.data.out.eq(out),
            records.write.data.times.eq(times),
            records.write.data.since.eq(self.now),
        ]

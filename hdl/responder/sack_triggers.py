"""When a SACK is due, and what caused it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits

from .slot import Clear, Outcome, Received, Slot, SlotOp

__all__ = ["Cause", "Causes", "SackTriggers"]

#: A packet counts at least so many octets towards the threshold.
_LEAST = 1024


class Cause(data.StructLayout):
    """Packet that causes a SACK.

    Members
    -------
    number : 24
        Its PSN, or the identifier of a probe.
    ev, tx_timestamp, ce, retransmission : as it came
    """

    def __init__(self):
        super().__init__({
            "number": 24,
            "ev": 32,
            "tx_timestamp": 16,
            "ce": 1,
            "retransmission": 1,
        })


class Causes(data.StructLayout):
    """What SACKs of a QP are due, and why.

    Members
    -------
    write_due, probe_due : 1
    write, probe : :class:`Cause`
    state : :class:`~mrcnic.hdl.responder.slot.Received`
        What the QP has received.
    """

    def __init__(self):
        super().__init__({
            "write_due": 1,
            "probe_due": 1,
            "write": Cause(),
            "probe": Cause(),
            "state": Received(),
        })


class _TriggerRow(data.StructLayout):
    # A SACK is due while the turn differs from that of the row of those served: so the two rows
    # have a writer each.
    def __init__(self):
        super().__init__({
            "write": Cause(),
            "write_turn": 1,
            "probe": Cause(),
            "probe_turn": 1,
            "octets": 25,
            "state": Received(),
        })


class _Recent(data.StructLayout):
    def __init__(self):
        super().__init__({"dirty": 1, "time": NOW_BITS})


class _Served(data.StructLayout):
    def __init__(self):
        super().__init__({"write_turn": 1, "probe_turn": 1})


class SackTriggers(wiring.Component):
    """Decide after each packet whether a SACK is due (docs/protocol.md, "Responder pipeline", 9).

    It is, if more than a threshold of octets have arrived since the last one (at least 1024 count
    per packet), for an ACK request, for CE, a resend, a duplicate, a probe, and when nothing has
    arrived for ``flush_delay`` since a packet that no SACK was sent for. That delay is looked for
    one QP a cycle, so the SACK may be as many cycles late as there are QPs.

    A newer cause takes the place of one not yet served, unless that has CE; the answer to a probe
    is kept apart, and stays until it has been sent.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase, now, sack_threshold, flush_delay
        Phase of the pipeline; time; settings.
    i, outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot and outcome, from phase 1 on.
    due : ``Out(StructLayout({"valid": 1, "index": ...}))``
        QP for which a SACK is due, in phase 0.
    flush : ``Out(StructLayout({"valid": 1, "index": ...}))``
        QP that may have been idle for long enough.
    take, take_qp : ``In(1)``, ``In``
        Set from phase 1 to phase 0: take the causes of a QP.
    causes : ``Out(Causes())``
        Those causes, from the next phase 1 on. They count as served.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp_bits = index_bits(config.qps)
        wanted = data.StructLayout({"valid": 1, "index": qp_bits})
        super().__init__({
            "phase": In(2),
            "now": In(NOW_BITS),
            "sack_threshold": In(24),
            "flush_delay": In(16),
            "i": In(Slot(config)),
            "outcome": In(Outcome()),
            "due": Out(wanted),
            "flush": Out(wanted),
            "take": In(1),
            "take_qp": In(qp_bits),
            "causes": Out(Causes()),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        depth = self.config.qps
        m.submodules.rows = triggers = Memory(shape=_TriggerRow(), depth=depth, init=[])
        m.submodules.recents = recents = Memory(shape=_Recent(), depth=depth, init=[])
        m.submodules.served = served = Memory(shape=_Served(), depth=depth, init=[])

        write = triggers.write_port()
        self._judge(m, triggers, recents, served, write)
        self._take(m, triggers, served, write)
        self._scan(m, recents)
        return m

    def _judge(self, m, triggers, recents, served, write):
        """Change the rows of the slot's QP."""
        packet, outcome = self.i.packet, self.outcome
        write_recent = recents.write_port()
        read, read_recent, read_served = (
            memory.read_port() for memory in (triggers, recents, served)
        )
        m.d.comb += [port.addr.eq(self.i.qp) for port in (read, read_recent, read_served)]

        # Phase 2.
        row = Signal(_TriggerRow())
        write_due, probe_due = Signal(), Signal()
        octets = Signal(25)
        dirty, idle = Signal(), Signal()
        with m.If(self.phase == 2):
            m.d.sync += [
                row.eq(read.data),
                write_due.eq(read.data.write_turn ^ read_served.data.write_turn),
                probe_due.eq(read.data.probe_turn ^ read_served.data.probe_turn),
                octets.eq(read.data.octets + packet.octets),
                dirty.eq(read_recent.data.dirty),
                idle.eq((self.now - read_recent.data.time)[:NOW_BITS] >= self.flush_delay),
            ]
            with m.If(packet.octets < _LEAST):
                m.d.sync += octets.eq(read.data.octets + _LEAST)

        # Phase 0.
        live = self.i.valid & outcome.known
        arrived = outcome.new | outcome.duplicate
        asked = (octets > self.sack_threshold) | (
            packet.ack_request | packet.ce | packet.retransmission
        )
        flush = live & (self.i.op == SlotOp.FLUSH) & dirty & idle
        remain = live & (self.i.op == SlotOp.REMAIN)
        trigger = Signal()
        m.d.comb += trigger.eq((outcome.new & asked) | outcome.duplicate | flush)

        cause = Signal(Cause())
        m.d.comb += [
            cause.number.eq(packet.psn),
            cause.ev.eq(packet.ev),
            cause.tx_timestamp.eq(packet.tx_timestamp),
            cause.ce.eq(packet.ce),
            cause.retransmission.eq(packet.retransmission),
        ]
        decided = (self.phase == 0) & self.i.valid & outcome.known
        changed = write.data
        m.d.comb += [
            write.en.eq(decided),
            write.addr.eq(self.i.qp),
            changed.eq(row),
            changed.state.eq(outcome.state),
            changed.write_turn.eq(row.write_turn ^ (trigger & ~write_due)),
            changed.probe_turn.eq(row.probe_turn ^ (outcome.probe & ~probe_due)),
        ]
        with m.If(arrived & (~write_due | (trigger & ~row.write.ce))):
            m.d.comb += changed.write.eq(cause)
        with m.Elif(flush & ~write_due):
            m.d.comb += changed.write.ce.eq(0)  # was told when the packet came
        with m.If(outcome.probe & ~probe_due):
            m.d.comb += [changed.probe.eq(cause), changed.probe.number.eq(packet.probe_id)]
        with m.If(trigger):
            m.d.comb += changed.octets.eq(0)
        with m.Elif(outcome.new):
            m.d.comb += changed.octets.eq(octets)

        m.d.comb += [
            write_recent.en.eq(decided & (arrived | flush | remain)),
            write_recent.addr.eq(self.i.qp),
            write_recent.data.dirty.eq(~trigger & (outcome.new | remain)),
            write_recent.data.time.eq(self.now),
            self.due.valid.eq(decided & (trigger | outcome.probe)),
            self.due.index.eq(self.i.qp),
        ]
        with m.If(self.clear.valid):
            for port in (write, write_recent):
                m.d.comb += [port.en.eq(1), port.addr.eq(self.clear.qp), port.data.eq(0)]

    def _take(self, m, triggers, served, write):
        """Hand the causes of a QP over, those of the slot that is being judged included."""
        read, read_served = triggers.read_port(), served.read_port()
        write_served = served.write_port()
        m.d.comb += [read.addr.eq(self.take_qp), read_served.addr.eq(self.take_qp)]
        old = Signal(_TriggerRow())
        old_served = Signal(_Served())
        with m.If(self.phase == 2):
            m.d.sync += [old.eq(read.data), old_served.eq(read_served.data)]

        row = Signal(_TriggerRow())
        m.d.comb += row.eq(old)
        with m.If(write.en & (write.addr == self.take_qp)):
            m.d.comb += row.eq(write.data)
        taken = self.take & (self.phase == 0)
        with m.If(taken):
            m.d.sync += [
                self.causes.write_due.eq(row.write_turn ^ old_served.write_turn),
                self.causes.probe_due.eq(row.probe_turn ^ old_served.probe_turn),
                self.causes.write.eq(row.write),
                self.causes.probe.eq(row.probe),
                self.causes.state.eq(row.state),
            ]
        m.d.comb += [
            write_served.en.eq(taken),
            write_served.addr.eq(self.take_qp),
            write_served.data.write_turn.eq(row.write_turn),
            write_served.data.probe_turn.eq(row.probe_turn),
        ]
        with m.If(self.clear.valid):
            m.d.comb += [
                write_served.en.eq(1),
                write_served.addr.eq(self.clear.qp),
                write_served.data.eq(0),
            ]

    def _scan(self, m, recents):
        """Look for QPs that have been idle."""
        read = recents.read_port()
        qp, qp_read = Signal(index_bits(self.config.qps)), Signal(index_bits(self.config.qps))
        m.d.sync += [qp.eq(qp + 1), qp_read.eq(qp)]
        m.d.comb += read.addr.eq(qp)
        idle = (self.now - read.data.time)[:NOW_BITS] >= self.flush_delay
        m.d.sync += [
            self.flush.valid.eq(read.data.dirty & idle),
            self.flush.index.eq(qp_read),
        ]

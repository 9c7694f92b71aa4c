"""What is to become of a packet."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.wire.opcodes import NackReason, Syndrome
from mrcnic.hdl.wire.serial import ahead

from .arrival_bitmap import ArrivalBitmap, BitmapRow
from .qp_table import QpRow
from .slot import Clear, Outcome, Received, Slot, SlotOp, window_bits

__all__ = ["Arrival", "ArrivalEvents", "Failure"]


#: Nominal octets of a write packet without immediate, payload and pad: IPv6 40, UDP 8, BTH 12,
#: METH 4, TSETH 4, RETH 16, ICRC 4.
_NOMINAL = 88


class _ArrivalState(data.StructLayout):
    # Besides what was received: whether, and when, a NACK or a NAK was sent that must not be
    # repeated at once.
    def __init__(self):
        super().__init__({"received": Received(), "limited": 1, "time": NOW_BITS})


class _Facts(data.StructLayout):
    # What is known of a slot before it is judged.
    def __init__(self, config):
        super().__init__({
            "known": 1,
            "failed": 1,
            "distance": 24,  # from the PSN expected next
            "marked": 1,
            "higher": 1,
            "octets": range(_NOMINAL + 4 + 3 + config.mtu + 1),
            "waited": NOW_BITS,
            "row": BitmapRow(),
            "state": _ArrivalState(),
        })


class Failure(data.StructLayout):
    """Whether a QP has failed.

    Members
    -------
    failed, syndrome : 1, 8
        The QP takes nothing more, and tells the peer so.
    poisoned : 1
        What seemed to be written may not be in memory.
    """

    def __init__(self):
        super().__init__({"failed": 1, "syndrome": 8, "poisoned": 1})


class ArrivalEvents(data.StructLayout):
    """What becomes of packets that are not simply taken."""

    def __init__(self):
        super().__init__({
            "rx_unknown_qp": 1,
            "rx_duplicate": 1,
            "rx_beyond_window": 1,
            "rx_no_room": 1,
            "rx_access_refused": 1,
            "rx_immediate_overflow": 1,
            "rx_qp_failed": 1,
        })


class Arrival(wiring.Component):
    """Judge packets, and mark those that are taken (docs/protocol.md, "Responder pipeline").

    A write is a duplicate if its PSN is behind the window or marked; beyond the window (NACK 0x0B)
    if it is more than ``window`` ahead of cack; refused (NAK, and the QP fails) if protection or
    the immediates say so; without room (NACK 0x07, not marked); and otherwise new. The cack may
    lag a few cycles. A QP that has failed takes nothing. NACK 0x0B and repeated NAKs leave at most
    once per base RTT and QP, together.

    Of a trimmed packet nothing is checked, so nothing follows from it but a NACK, 0x01 or 0x02, if
    its PSN lies in the window and is not marked, and if such NACKs were agreed upon; or a SACK if
    it is a duplicate.

    Takes a packet in three cycles, also back to back on one QP. ``outcome`` is right from the next
    phase 1 on, for three cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    bitmap : :class:`ArrivalBitmap`
        Whose rows these are, for their addresses.

    Members
    -------
    phase, now, base_rtt
        Phase of the pipeline; time; settings.
    i, qp_row : ``In(Slot(config))``, ``In(QpRow())``
        Slot and its QP's row, from phase 1 on.
    allowed, overflow : ``In(1)``
        Protection lets it pass; the immediate has no place. By phase 0.
    expected : ``In(24)``
        PSN above cack, in phase 2.
    read_address, row, write_valid, write_address, write_row
        Towards the bitmap: asked in phase 1, answered in phase 2, written in phase 0.
    o, outcome : ``Out(Slot(config))``, ``Out(Outcome())``
        The slot, three cycles later, and what was decided.
    failure_qp, failure : ``array(2)``
        Whether QPs have failed, a cycle after it was asked for.
    clear : ``In(Clear(config))``
    events : what was counted
    """

    def __init__(self, config: NicConfig, *, bitmap: ArrivalBitmap):
        self.config = config
        self.bitmap = bitmap
        qp_bits = index_bits(config.qps)
        super().__init__({
            "phase": In(2),
            "now": In(NOW_BITS),
            "base_rtt": In(16),
            "i": In(Slot(config)),
            "qp_row": In(QpRow()),
            "allowed": In(1),
            "overflow": In(1),
            "expected": In(24),
            "read_address": Out(bitmap.address_bits),
            "row": In(BitmapRow()),
            "write_valid": Out(1),
            "write_address": Out(bitmap.address_bits),
            "write_row": Out(BitmapRow()),
            "o": Out(Slot(config)),
            "outcome": Out(Outcome()),
            "failure_qp": In(qp_bits).array(2),
            "failure": Out(Failure()).array(2),
            "clear": In(Clear(config)),
            "events": Out(ArrivalEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        address = self.bitmap.row_address(self.i.qp, self.i.packet.psn)
        m.d.comb += [self.read_address.eq(address), self.write_address.eq(address)]

        depth = self.config.qps
        m.submodules.states = states = Memory(shape=_ArrivalState(), depth=depth, init=[])
        m.submodules.failures = failures = Memory(shape=Failure(), depth=depth, init=[])
        for qp, failure in zip(self.failure_qp, self.failure, strict=True):
            port = failures.read_port()
            m.d.comb += [port.addr.eq(qp), failure.eq(port.data)]

        facts = Signal(_Facts(self.config))
        self._look(m, facts, states.read_port(), failures.read_port())
        self._judge(m, facts, states.write_port(), failures.write_port())
        return m

    def _look(self, m, facts, read_state, read_failure):
        """Phase 2: where the packet lies, and what the QP's state is."""
        slot, packet = self.i, self.i.packet
        m.d.comb += [read_state.addr.eq(slot.qp), read_failure.addr.eq(slot.qp)]
        mark = (self.row.marks & (1 << packet.psn[:6])).any()
        meant = (packet.dqp == self.qp_row.qpn) & (packet.write | packet.probe)
        with m.If(self.phase == 2):
            m.d.sync += [
                facts.distance.eq(packet.psn - self.expected),
                facts.marked.eq(mark ^ self.bitmap.lap(packet.psn)),
                facts.row.eq(self.row),
                facts.state.eq(read_state.data),
                facts.failed.eq(read_failure.data.failed),
                facts.higher.eq(ahead(packet.psn, read_state.data.received.highest) > 0),
                facts.octets.eq(
                    (_NOMINAL + packet.octets) + (packet.pad + (packet.with_immediate << 2))
                ),
                facts.waited.eq(self.now - read_state.data.time),
                facts.known.eq(
                    slot.valid & self.qp_row.active & ((slot.op != SlotOp.PACKET) | meant)
                ),
            ]

    def _judge(self, m, facts, write_state, write_failure):
        """Phase 0: the verdict, and all that is to be written."""
        slot, packet, state = self.i, self.i.packet, facts.state
        decided = self.phase == 0

        taken, fresh, cut, limit = Signal(), Signal(), Signal(), Signal()
        duplicate, beyond, refused, overflow, starved, new = (
            Signal(name=name)
            for name in ("duplicate", "beyond", "refused", "overflow", "starved", "new")
        )
        is_packet = facts.known & (slot.op == SlotOp.PACKET)
        behind = facts.distance[-1]
        within = ~facts.distance[window_bits(self.config) :].any()
        m.d.comb += [
            taken.eq(is_packet & ~facts.failed),
            duplicate.eq(taken & packet.write & (behind | (within & facts.marked))),
            beyond.eq(taken & packet.write & ~behind & ~within & ~packet.trimmed),
            fresh.eq(taken & packet.write & within & ~facts.marked & ~packet.trimmed),
            cut.eq(taken & within & ~facts.marked & packet.trimmed & self.qp_row.trim_nack),
            refused.eq(fresh & ~self.allowed),
            overflow.eq(fresh & self.allowed & packet.with_immediate & self.overflow),
            starved.eq(fresh & self.allowed & ~overflow & packet.no_room),
            new.eq(fresh & self.allowed & ~overflow & ~packet.no_room),
            limit.eq(state.limited & (facts.waited < self.base_rtt)),
        ]
        fail = facts.known & (slot.op == SlotOp.FAIL)
        fails = refused | overflow | fail
        repeat = is_packet & facts.failed & ~limit
        again = taken & (packet.probe | (duplicate & packet.ack_request))

        after = Signal(_ArrivalState())
        m.d.comb += after.eq(state)
        with m.If(new):
            m.d.comb += after.received.following.eq(state.received.following + 1)
            m.d.comb += after.received.octets.eq(state.received.octets + facts.octets)
            with m.If(facts.higher):
                m.d.comb += after.received.highest.eq(packet.psn)
        with m.Else():
            m.d.comb += [after.limited.eq(1), after.time.eq(self.now)]

        with m.If(decided):
            m.d.sync += [
                self.o.eq(slot),
                self.outcome.known.eq(facts.known),
                self.outcome.spdcid.eq(self.qp_row.qpn),
                self.outcome.dpdcid.eq(self.qp_row.remote_qpn),
                self.outcome.new.eq(new),
                self.outcome.duplicate.eq(duplicate),
                self.outcome.probe.eq(taken & packet.probe),
                self.outcome.nack.eq(starved | cut | (beyond & ~limit)),
                self.outcome.reason.eq(NackReason.OUT_OF_WINDOW),
                self.outcome.acknowledge.eq(again),
                self.outcome.failed.eq(facts.known & facts.failed),
                self.outcome.nak.eq(fails | repeat),
                self.outcome.state.eq(after.received),
            ]
            with m.If(starved):
                m.d.sync += self.outcome.reason.eq(NackReason.NO_BUFFER)
            with m.If(cut):
                m.d.sync += self.outcome.reason.eq(
                    Mux(packet.last_hop, NackReason.TRIMMED_LASTHOP, NackReason.TRIMMED)
                )
            m.d.comb += [
                self.events.rx_unknown_qp.eq(
                    slot.valid & (slot.op == SlotOp.PACKET) & ~facts.known
                ),
                self.events.rx_duplicate.eq(duplicate),
                self.events.rx_beyond_window.eq(beyond),
                self.events.rx_no_room.eq(starved),
                self.events.rx_access_refused.eq(refused),
                self.events.rx_immediate_overflow.eq(overflow),
                self.events.rx_qp_failed.eq(is_packet & facts.failed),
            ]

        self._mark(m, decided & new, facts.row)
        m.d.comb += [
            write_state.en.eq(decided & (new | (beyond & ~limit) | fails | repeat)),
            write_state.data.eq(after),
            write_failure.en.eq(decided & fails),
            write_failure.data.failed.eq(1),
            write_failure.data.poisoned.eq(fail),
            write_failure.data.syndrome.eq(Syndrome.NAK_ACCESS),
        ]
        with m.If(fail):
            m.d.comb += write_failure.data.syndrome.eq(Syndrome.NAK_OPERATIONAL)
        with m.Elif(overflow):
            m.d.comb += write_failure.data.syndrome.eq(Syndrome.NAK_INVALID_REQUEST)
        m.d.comb += [port.addr.eq(slot.qp) for port in (write_state, write_failure)]

        with m.If(self.clear.valid):
            for port in (write_state, write_failure):
                m.d.comb += [port.en.eq(1), port.addr.eq(self.clear.qp), port.data.eq(0)]
            m.d.comb += [
                write_state.data.received.highest.eq(self.clear.psn - 1),
                write_state.data.received.following.eq(self.clear.psn),
            ]

    def _mark(self, m, mark, row):
        """Write the packet's three bits into its row."""
        packet = self.i.packet
        bit = (1 << self.i.packet.psn[:6])[:64]
        m.d.comb += [
            self.write_valid.eq(mark),
            self.write_row.marks.eq(row.marks ^ bit),
            self.write_row.last.eq((row.last & ~bit) | (bit & packet.last.replicate(64))),
            self.write_row.ack_request.eq(
                (row.ack_request & ~bit) | (bit & packet.ack_request.replicate(64))
            ),
        ]

"""The receiving half of the transport, packet by packet (docs/protocol.md, "Responder")."""

from collections.abc import Callable

from mrcnic.hdl.wire.opcodes import NackReason, Syndrome
from mrcnic.hdl.wire.psn import PSN_MODULUS, psn_add, psn_difference

from .messages import Ack, Immediate, Mark, Nack, Probe, QueuePair, Sack, Verdict, Write

__all__ = ["Responder"]

#: Least that a packet adds to the count that triggers SACKs, in octets.
_MIN_TRIGGER_OCTETS = 1024

#: Headers that count in the nominal size of a write besides payload and immediate: IPv6, UDP, BTH,
#: METH, TSETH, RETH, ICRC.
_NOMINAL_HEADERS = 40 + 8 + 12 + 4 + 4 + 16 + 4


class Responder:
    """One QP's responder.

    Parameters
    ----------
    qp : :class:`~mrcnic.sim.model.messages.QueuePair`
    place : callable
        ``place(rkey, va, dmalen, payload)`` writes to memory and returns whether that is allowed.
        Called once for each PSN that carries payload.

    Attributes
    ----------
    cack : :class:`int`
        Highest PSN before the first gap.
    received : :class:`dict` of :class:`int` to :class:`~mrcnic.sim.model.messages.Write`
        Packets above ``cack``, by PSN.
    immediates : list of :class:`~mrcnic.sim.model.messages.Immediate`
        What the host has been told, in order.
    failed : :class:`bool`
        An access was refused; nothing is taken any more.
    """

    def __init__(self, qp: QueuePair, place: Callable[[int, int, int, bytes], bool]):
        self.qp = qp
        self.place = place
        self.cack = psn_add(qp.rx_psn, -1)
        self.received: dict[int, Write] = {}
        self.highest = self.cack
        self.completed_messages = 0
        self.immediates: list[Immediate] = []
        self.failed = False
        self._stash: dict[int, tuple[int, Immediate]] = {}
        self._next_rqmsn = 0
        self._rcvd_octets = 0
        self._trigger_octets = 0
        self._unreported = psn_add(self.cack, 1)
        self._ack_due = False
        self._last: Write | None = None  # latest packet that no SACK has reported

    def on_write(self, packet: Write) -> tuple[Verdict, list]:
        """Take a packet; return what became of it, and the answers that leave at once."""
        if self.failed:
            return Verdict.DEAD, [self._nak()]
        ahead = psn_difference(packet.psn, psn_add(self.cack, 1))
        if ahead >= self.qp.window:
            nack = Nack(
                psn=packet.psn,
                reason=NackReason.OUT_OF_WINDOW,
                ev_index=packet.ev_index,
                sent_ns=packet.sent_ns,
            )
            return Verdict.BEYOND, [nack]
        if ahead < 0 or packet.psn in self.received:
            answers = [self.sack(packet)]
            if packet.ack_request and self.completed_messages:
                answers.append(self._ack())
            return Verdict.DUPLICATE, answers
        if packet.payload and not self.place(packet.rkey, packet.va, packet.dmalen, packet.payload):
            self.failed = True
            return Verdict.REFUSED, [self._nak()]
        return Verdict.NEW, self._accept(packet)

    def on_trimmed(self, packet: Write, *, last_hop: bool) -> tuple[Verdict, list]:
        """Take what a switch has left of a packet, of which nothing was checked."""
        if self.failed:
            return Verdict.DEAD, [self._nak()]
        ahead = psn_difference(packet.psn, psn_add(self.cack, 1))
        if ahead >= self.qp.window:
            return Verdict.BEYOND, []
        if ahead < 0 or packet.psn in self.received:
            return Verdict.DUPLICATE, [self.sack(packet)]
        nack = Nack(
            psn=packet.psn,
            reason=NackReason.TRIMMED_LASTHOP if last_hop else NackReason.TRIMMED,
            ev_index=packet.ev_index,
            sent_ns=packet.sent_ns,
        )
        return Verdict.TRIMMED, [nack] if self.qp.trim_nack else []

    def on_probe(self, probe: Probe) -> list:
        """Answer a reliability probe; a transport ACK that may have been lost goes with it."""
        answers = [self.sack(probe)]
        if self.completed_messages:
            answers.append(self._ack())
        return answers

    def flush(self) -> list:
        """Report what no SACK has reported: to be called when no packet has come for 2 us."""
        return [self.sack(self._last)] if self._last else []

    def sack(self, trigger: Write | Probe) -> Sack:
        """Report to the requester because of ``trigger``."""
        first = psn_add(self.cack, 1)
        base = self._unreported if psn_difference(self._unreported, first) > 0 else first
        while base not in self.received and psn_difference(self.highest, base) > 0:
            base = psn_add(base, 1)
        if base not in self.received:
            base = first
        if psn_difference(psn_add(base, 63), self.highest) > 0:
            pulled = psn_add(self.highest, -63)
            base = pulled if psn_difference(pulled, first) > 0 else first
        bitmap = sum(1 << n for n in range(64) if psn_add(base, n) in self.received)
        self._unreported = psn_add(base, 64)
        if psn_difference(self._unreported, self.highest) > 0:
            self._unreported = first
        self._trigger_octets = 0
        self._last = None
        probe_id = trigger.probe_id if isinstance(trigger, Probe) else None
        return Sack(
            cack=self.cack,
            offset=psn_difference(base, self.cack),
            bitmap=bitmap,
            mark=Mark.SKIP if trigger.ce else Mark.NONE,
            ev_index=trigger.ev_index,
            sent_ns=trigger.sent_ns,
            trigger_offset=0 if probe_id is not None else psn_difference(trigger.psn, self.cack),
            probe_id=probe_id,
            trigger_resent=probe_id is None and trigger.resent,
            ooo_count=len(self.received),
            mpr=min(self.qp.window // 128, 255) if self.qp.dynamic_mpr else 0,
            rcvd_units=-(-self._rcvd_octets // 256) % PSN_MODULUS,
        )

    def _accept(self, packet: Write) -> list:
        self.received[packet.psn] = packet
        if psn_difference(packet.psn, self.highest) > 0:
            self.highest = packet.psn
        pad = -len(packet.payload) % 4
        immediate = 0 if packet.immediate is None else 4
        self._rcvd_octets += _NOMINAL_HEADERS + immediate + len(packet.payload) + pad
        self._trigger_octets += max(len(packet.payload), _MIN_TRIGGER_OCTETS)
        if packet.last and packet.immediate is not None:
            told = Immediate(immediate=packet.immediate, octets=packet.dmalen)
            self._stash[packet.rqmsn] = (packet.psn, told)
        self._last = packet
        self._advance()
        self._deliver()
        answers = []
        due = packet.ack_request or packet.ce or packet.resent
        if due or self._trigger_octets > self.qp.sack_threshold:
            answers.append(self.sack(packet))
        if self._ack_due:
            answers.append(self._ack())
        return answers

    def _advance(self):
        while packet := self.received.pop(psn_add(self.cack, 1), None):
            self.cack = psn_add(self.cack, 1)
            if packet.last:
                self.completed_messages += 1
                self._ack_due |= packet.ack_request

    def _deliver(self):
        while self._next_rqmsn in self._stash:
            psn, told = self._stash[self._next_rqmsn]
            if psn_difference(psn, self.cack) > 0:
                return
            del self._stash[self._next_rqmsn]
            self.immediates.append(told)
            self._next_rqmsn = (self._next_rqmsn + 1) % 2**16

    def _ack(self) -> Ack:
        self._ack_due = False
        return Ack(psn=self.cack, msn=self.completed_messages % PSN_MODULUS, syndrome=Syndrome.ACK)

    def _nak(self) -> Ack:
        return Ack(
            psn=self.cack, msn=self.completed_messages % PSN_MODULUS, syndrome=Syndrome.NAK_ACCESS
        )

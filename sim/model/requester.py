"""The sending half of the transport, event by event (docs/protocol.md, "Requester")."""

from collections import deque
from dataclasses import dataclass

from mrcnic.hdl.wire.opcodes import NackReason, ProbeKind, Syndrome
from mrcnic.hdl.wire.psn import psn_add, psn_difference

from .loss_rule import is_lost
from .messages import Ack, Mark, Nack, Probe, QueuePair, Sack, WorkRequest, Write
from .spray import Spray

__all__ = ["Flight", "Requester"]

#: Headers that count in the nominal size of a write besides payload and immediate.
_NOMINAL_HEADERS = 40 + 8 + 12 + 4 + 4 + 16 + 4

#: Doubling of the retransmission time-out ends here.
_RTO_MAX_NS = 1_000_000_000

#: This exponential count means: never give up.
_FOR_EVER = 25


@dataclass
class Flight:
    """One packet that is not acknowledged."""

    packet: Write
    octets: int
    stamp: int = -1
    sent_ns: int = 0
    ev_index: int = 0
    sends: int = 0
    resend: bool = False
    not_before_ns: int = 0


class Requester:
    """One QP's requester.

    Parameters
    ----------
    qp : :class:`~mrcnic.sim.model.messages.QueuePair`
    spray : :class:`~mrcnic.sim.model.spray.Spray`
        Its paths.

    Attributes
    ----------
    completions : list of (:class:`int`, :class:`str`)
        Identifier and status of each work request that has ended, in order.
    window : :class:`int`
        PSNs that the peer lets be under way.
    resends : :class:`int`
        Packets sent again.
    in_flight_octets : :class:`int`
        What counts against the congestion window.
    """

    def __init__(self, qp: QueuePair, spray: Spray):
        self.qp = qp
        self.spray = spray
        self.window = qp.window
        self.next_psn = qp.tx_psn
        self.cack = psn_add(qp.tx_psn, -1)
        #: By PSN, in the order of sending: the oldest first.
        self.flights: dict[int, Flight] = {}
        self.in_flight_octets = 0
        self.completions: list[tuple[int, str]] = []
        self.resends = 0
        self.spurious = 0
        self.failed: str | None = None
        self._packets: deque[Write] = deque()  # cut, not sent
        self._due: set[int] = set()  # PSNs to be sent again
        self._open: deque[WorkRequest] = deque()
        self._msn = 0
        self._rqmsn = 0
        self._completed = 0
        self._immediate_psns: deque[int] = deque()
        self._stamp = 0
        self._highest_stamp = -1
        self._waived = False
        self._retries = 0
        self._charged_ns = -(10**18)
        self._last_send_ns = 0
        self._probe: tuple[int, int, int] | None = None  # id, stamp, time
        self._probe_seq = 0

    # ---- the host's side -------------------------------------------------------------------------

    def post(self, request: WorkRequest):
        """Queue a work request."""
        if not request.content:
            raise ValueError("a write carries 1 to 2**32 - 1 octets, not 0")
        if self.failed:
            self.completions.append((request.identifier, "FLUSHED"))
            return
        self._open.append(request)
        with_immediate = request.immediate is not None
        mtu = self.qp.mtu
        octets = len(request.content)
        for start in range(0, octets, mtu):
            last = start + mtu >= octets
            self._packets.append(
                Write(
                    psn=0,
                    msn=self._msn,
                    rqmsn=self._rqmsn if with_immediate else 0,
                    last=last,
                    va=request.remote_address + start,
                    rkey=request.rkey,
                    dmalen=octets,
                    payload=request.content[start : start + mtu],
                    immediate=request.immediate if last else None,
                    ack_request=last,
                    resent=False,
                    ev_index=0,
                    sent_ns=0,
                )
            )
        self._msn = (self._msn + 1) % 2**16
        self._rqmsn = (self._rqmsn + with_immediate) % 2**16

    @property
    def idle(self) -> bool:
        """Whether every work request has ended."""
        return not self._open

    # ---- time ------------------------------------------------------------------------------------

    @property
    def rto_ns(self) -> int:
        """Present retransmission time-out."""
        doublings = max(0, self._retries - self.qp.linear_count)
        return min(self.qp.rto_ns << min(doublings, 30), _RTO_MAX_NS)

    def on_time(self, now_ns: int):
        """Judge what is under way: call it at least every microsecond."""
        if self.failed:
            return
        threshold = self.qp.base_rtt_ns * 5 // 4 + self.qp.target_delay_ns
        rto = self.rto_ns
        timed_out = False
        for psn, flight in self.flights.items():
            age = now_ns - flight.sent_ns
            if age <= min(threshold, rto):
                break  # all others were sent later
            if flight.resend:
                continue
            if is_lost(
                stamp=flight.stamp,
                highest_stamp=self._highest_stamp,
                age_ns=age,
                reorder_packets=self.qp.reorder_packets,
                threshold_ns=threshold,
                waived=self._waived,
            ):
                self._give_up(psn, flight)
                self.spray.blame(flight.ev_index, now_ns)
            elif age > rto:
                timed_out = True
                if self._highest_stamp > flight.stamp:
                    self._give_up(psn, flight)
                    self.spray.blame(flight.ev_index, now_ns)
                elif psn == psn_add(self.cack, 1):
                    self._give_up(psn, flight)
        if timed_out:
            self._charge(now_ns)

    def _give_up(self, psn: int, flight: Flight):
        """Have a packet sent again."""
        flight.resend = True
        self._due.add(psn)

    def _charge(self, now_ns: int):
        if now_ns - self._charged_ns < self.rto_ns:
            return
        self._charged_ns = now_ns
        self._retries += 1
        limit = self.qp.linear_count + self.qp.exponential_count
        if self.qp.exponential_count != _FOR_EVER and self._retries >= limit:
            self._fail("RETRY_EXCEEDED")

    def _fail(self, status: str):
        self.failed = status
        for request in self._open:
            self.completions.append((request.identifier, status))
            status = "FLUSHED"
        self._open.clear()
        self._packets.clear()
        self.flights.clear()
        self._due.clear()
        self.in_flight_octets = 0

    # ---- sending ---------------------------------------------------------------------------------

    def send(self, now_ns: int, *, usable) -> Write | Probe | None:
        """Return the packet that leaves now, if there is one and ``usable`` planes for it."""
        if self.failed or not usable:
            return None
        if probe := self.spray.probe(now_ns, usable=usable):
            ev, probe_id = probe
            return Probe(probe_id=probe_id, ev_index=ev, sent_ns=now_ns)
        if due := [psn for psn in self._due if now_ns >= self.flights[psn].not_before_ns]:
            psn = min(due, key=lambda psn: psn_difference(psn, self.cack))
            return self._launch(psn, now_ns, usable)
        if self._may_send_new():
            packet = self._packets.popleft()
            psn = self.next_psn
            self.next_psn = psn_add(psn, 1)
            self.flights[psn] = flight = Flight(packet, self._nominal(packet))
            self.in_flight_octets += flight.octets
            if packet.immediate is not None:
                self._immediate_psns.append(psn)
            return self._launch(psn, now_ns, usable)
        return self._tail_probe(now_ns, usable)

    def _may_send_new(self) -> bool:
        if not self._packets:
            return False
        packet = self._packets[0]
        in_flight = self.in_flight_octets
        return (
            psn_difference(self.next_psn, self.cack) < self.window
            and (not in_flight or in_flight + self._nominal(packet) <= self.qp.cwnd)
            and (packet.immediate is None or len(self._immediate_psns) < self.qp.max_immediates)
        )

    @staticmethod
    def _nominal(packet: Write) -> int:
        immediate = 0 if packet.immediate is None else 4
        return _NOMINAL_HEADERS + immediate + len(packet.payload) + -len(packet.payload) % 4

    def _launch(self, psn: int, now_ns: int, usable) -> Write:
        self.flights[psn] = flight = self.flights.pop(psn)  # now the last in the order of sending
        self._due.discard(psn)
        again = flight.sends > 0
        flight.ev_index = self.spray.pick(usable=usable, avoid=flight.ev_index if again else None)
        flight.stamp = self._stamp
        self._stamp += 1
        flight.sent_ns = self._last_send_ns = now_ns
        flight.sends += 1
        flight.resend = False
        self.resends += again
        idle = not self._packets
        full = self.qp.cwnd - self.in_flight_octets < self.qp.mtu
        fields = vars(flight.packet) | {
            "psn": psn,
            "resent": again,
            "ev_index": flight.ev_index,
            "sent_ns": now_ns,
            "ack_request": flight.packet.ack_request or idle or full,
        }
        return Write(**fields)

    def _tail_probe(self, now_ns: int, usable) -> Probe | None:
        waiting = len(self.flights) > len(self._due) or (self._open and not self._packets)
        quiet = now_ns - self._last_send_ns > self.qp.base_rtt_ns * 3 // 2
        if self._probe and now_ns - self._probe[2] <= self.rto_ns:
            return None
        if not waiting or not quiet:
            return None
        if self._probe and not self.flights:
            self._charge(now_ns)
            if self.failed:
                return None
        self._probe_seq = (self._probe_seq + 1) % 256
        ev = self.spray.pick(usable=usable)
        probe_id = ProbeKind.TAIL | self._probe_seq << 8
        self._probe = (probe_id, self._stamp, now_ns)
        self._stamp += 1
        self._last_send_ns = now_ns
        return Probe(probe_id=probe_id, ev_index=ev, sent_ns=now_ns)

    # ---- answers ---------------------------------------------------------------------------------

    def on_sack(self, sack: Sack, now_ns: int):
        """Take a SACK; one that cannot be true is ignored."""
        if self.failed or psn_difference(sack.cack, self.next_psn) >= 0:
            return
        if sack.mark is Mark.SKIP:
            self.spray.skip(sack.ev_index)
        elif sack.mark is Mark.BAD:
            self.spray.blame(sack.ev_index, now_ns)
        for ahead in range(psn_difference(sack.cack, self.cack)):
            self._acknowledge(psn_add(self.cack, ahead + 1))
        base = psn_add(sack.cack, sack.offset)
        bitmap = sack.bitmap
        while bitmap:
            self._acknowledge(psn_add(base, bitmap.bit_length() - 1))
            bitmap ^= 1 << bitmap.bit_length() - 1
        if self.qp.dynamic_mpr and sack.mpr and psn_difference(sack.cack, self.cack) >= 0:
            self.window = 128 * sack.mpr
        if psn_difference(sack.cack, self.cack) > 0:
            self.cack = sack.cack
            self._retries = 0
        if self._probe and sack.probe_id == self._probe[0]:
            self._highest_stamp = max(self._highest_stamp, self._probe[1])
            self._waived = True
            self._probe = None
        elif sack.probe_id is None:
            self._waived = False
        elif sack.probe_id & 0xFF >= ProbeKind.PATH:
            self.spray.answer(sack.probe_id, now_ns, marked=sack.mark is Mark.SKIP)

    def _acknowledge(self, psn: int):
        if flight := self.flights.pop(psn, None):
            self.in_flight_octets -= flight.octets
            self._due.discard(psn)
            self._highest_stamp = max(self._highest_stamp, flight.stamp)

    def on_nack(self, nack: Nack, now_ns: int):
        """Take a NACK; one for a packet that is not under way is ignored."""
        flight = self.flights.get(nack.psn)
        if self.failed or flight is None or flight.resend:
            return
        if nack.reason == NackReason.UNEXPECTED:
            self._fail("REMOTE_ERROR")
            return
        self._give_up(nack.psn, flight)
        if nack.reason == NackReason.TRIMMED:
            self.spray.skip(nack.ev_index)
        elif nack.reason != NackReason.TRIMMED_LASTHOP:
            wait = self.qp.base_rtt_ns
            if nack.reason == NackReason.OUT_OF_WINDOW:
                wait = self.rto_ns
            flight.not_before_ns = now_ns + wait
            self._charge(now_ns)

    def on_ack(self, ack: Ack):
        """Take a transport ACK or NAK."""
        if self.failed:
            return
        if ack.syndrome != Syndrome.ACK:
            access = ack.syndrome == Syndrome.NAK_ACCESS
            self._fail("REMOTE_ACCESS" if access else "REMOTE_ERROR")
            return
        news = (ack.msn - self._completed) % 2**24
        if news > len(self._open):
            return  # older than what is known, or of messages never sent
        for _ in range(news):
            request = self._open.popleft()
            self.completions.append((request.identifier, "OK"))
            if request.immediate is not None and self._immediate_psns:
                self._immediate_psns.popleft()
        self._completed = (self._completed + news) % 2**24

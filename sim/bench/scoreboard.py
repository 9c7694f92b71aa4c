"""The reference model beside the gateware: what arrived must have the effect that it says."""

from collections import Counter

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.psn import psn_add, psn_difference
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.model.messages import QueuePair, Write
from mrcnic.sim.model.responder import Responder

__all__ = ["Scoreboard"]

_LAST = {Opcode.WRITE_LAST, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM}
_WRITES = _LAST | {Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE}


class Scoreboard:
    """Model of the receiving NIC, fed with the very frames that the NIC gets.

    Parameters
    ----------
    target : :class:`int`
        First address of the memory that may be written.
    memory : :class:`bytes`
        What it holds.
    rkey : :class:`int`
        Its key.
    spoiled : :class:`bool`
        Whether writes elsewhere, or with another key, are no fault of the sender.

    Attributes
    ----------
    memory : :class:`bytearray`
        What the memory must be.
    verdicts : :class:`~collections.Counter`
        Verdicts of the model by name.
    faults : list of :class:`str`
        Where the gateware said what the model knows to be wrong.
    """

    def __init__(self, *, target: int, memory: bytes, rkey: int, spoiled: bool):
        self.target = target
        self.rkey = rkey
        self.spoiled = spoiled
        self.memory = bytearray(memory)
        self.verdicts: Counter[str] = Counter()
        self.faults: list[str] = []
        self._qps: dict[int, Responder] = {}
        self._by_remote: dict[int, Responder] = {}

    def add(self, qp: QueuePair):
        """Add a QP of the receiving NIC."""
        responder = Responder(qp, self._place)
        self._qps[qp.qpn] = self._by_remote[qp.remote_qpn] = responder

    def arrived(self, packet: Packet):
        """Take a packet that the receiving NIC is given."""
        responder = self._qps.get(packet.dqp)
        if responder is None or packet.opcode not in _WRITES or packet.trimmed:
            return
        meth, reth = packet.extensions["meth"], packet.extensions["reth"]
        verdict, _ = responder.on_write(
            Write(
                psn=packet.psn,
                msn=meth["msn"],
                rqmsn=meth["rqmsn"],
                last=packet.opcode in _LAST,
                va=reth["va"],
                rkey=reth["rkey"],
                dmalen=reth["dmalen"],
                payload=packet.payload,
                immediate=packet.extensions.get("immdt", {}).get("immediate"),
                ack_request=bool(packet.ack_request),
                resent=bool(packet.retransmission),
                ev_index=EvFields.unpack(packet.ev).index,
                sent_ns=0,
                ce=packet.ce,
            )
        )
        self.verdicts[verdict.name] += 1

    def said(self, packet: Packet):
        """Take a packet that the receiving NIC sends: it may know less than the model, not more."""
        responder = self._by_remote.get(packet.dqp)
        if responder is None:
            return
        if packet.opcode == Opcode.SACK:
            self._check_sack(responder, packet)
        elif packet.opcode == Opcode.ACK:
            msn = packet.extensions["aeth"]["msn"]
            if msn > responder.completed_messages:
                self.faults.append(
                    f"ACK of {msn} messages where {responder.completed_messages} are complete"
                )

    @property
    def immediates(self) -> list[tuple[int, int]]:
        """Immediates that the receiving host must have been told, with their lengths."""
        return [
            (item.immediate, item.octets)
            for responder in self._qps.values()
            for item in responder.immediates
        ]

    def _check_sack(self, responder: Responder, packet: Packet):
        seth = packet.extensions["seth"]
        cack = seth["cack_psn"]
        if psn_difference(cack, responder.cack) > 0:
            self.faults.append(f"SACK up to {cack:#x} where {responder.cack:#x} has arrived")
        offset = (seth["sack_offset"] ^ 0x8000) - 0x8000
        base = psn_add(cack, offset)
        for n in range(64):
            if seth["sack_bitmap"] >> n & 1:
                psn = psn_add(base, n)
                known = psn_difference(psn, responder.cack) <= 0 or psn in responder.received
                if not known:
                    self.faults.append(f"SACK of {psn:#x}, which has not arrived")

    def _place(self, rkey: int, va: int, dmalen: int, payload: bytes) -> bool:
        start = va - self.target
        outside = start < 0 or start + len(payload) > len(self.memory)
        if outside or rkey != self.rkey:
            if not self.spoiled:
                self.faults.append(f"write of {len(payload)} octets to {va:#x} by key {rkey:#x}")
            return False
        self.memory[start : start + len(payload)] = payload
        return True

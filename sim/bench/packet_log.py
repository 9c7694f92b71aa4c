"""What happened to every packet of a simulation, one by one."""

from typing import NamedTuple

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.errors import PacketError
from mrcnic.sim.codec.extensions import WRITE_OPCODES
from mrcnic.sim.codec.packet import Packet

__all__ = ["PacketLog", "PacketRecord"]

#: Endpoint packets name no QP; those of QPs bear its index in these bits.
_ENDPOINT_QPN = 2
_INDEX_MASK = 0xFFF


class PacketRecord(NamedTuple):
    """A packet at a place.

    Attributes
    ----------
    time_us : :class:`float`
        When its last octet was there.
    place : :class:`str`
        Port that it left or reached, or where it was lost.
    kind : :class:`str`
        ``"WRITE"``, ``"PROBE"``, ``"ANSWER"`` (a SACK that answers a probe), ``"STATUS"`` (an
        endpoint request that tells which ports work), or the name of the opcode.
    qp : :class:`int`
        Index of the QP; -1 if it is of none.
    number : :class:`int`
        PSN, or of probes and their answers the probe's id.
    ev : :class:`int`
        Index of the EV.
    resent : :class:`bool`
        It was sent before.
    octets : :class:`int`
        Payload.
    began_us : :class:`float`
        When its first beat left a NIC; of others, as ``time_us``.
    """

    time_us: float
    place: str
    kind: str
    qp: int
    number: int
    ev: int
    resent: bool
    octets: int
    began_us: float


class PacketLog:
    """Records of packets, as lists that go into JSON.

    Attributes
    ----------
    sent, arrived, lost : list of (:class:`int`, :class:`int`, :class:`str`, ...)
        Times of end and beginning in picoseconds, then what a :class:`PacketRecord` has besides.
    """

    def __init__(self):
        self.sent: list[tuple] = []
        self.arrived: list[tuple] = []
        self.lost: list[tuple] = []

    def note_sent(self, port: str, packet: Packet, time_ps: int, began_ps: int):
        """Note a packet that has left a NIC."""
        self.sent.append((time_ps, began_ps, port, *_facts(packet)))

    def note_arrived(self, port: str, packet: Packet, time_ps: int):
        """Note a packet that a NIC is given; one that was cut has not arrived."""
        if packet.trimmed:
            return
        self.arrived.append((time_ps, time_ps, port, *_facts(packet)))

    def note_lost(self, place: str, frame: bytes, time_ps: int):
        """Note a frame that was lost; what is none of the protocol's does not count."""
        try:
            packet = Packet.decode(frame)
        except PacketError:
            return
        self.lost.append((time_ps, time_ps, place, *_facts(packet)))

    def figures(self, *, began_ps: int) -> dict[str, list[PacketRecord]]:
        """Return everything, with times from ``began_ps`` on."""
        return {
            name: [
                PacketRecord((time - began_ps) / 1e6, *rest, began_us=(began - began_ps) / 1e6)
                for time, began, *rest in getattr(self, name)
            ]
            for name in ("sent", "arrived", "lost")
        }


def _facts(packet: Packet) -> tuple[str, int, int, int, bool, int]:
    kind, number = Opcode(packet.opcode).name, packet.psn
    if packet.opcode in WRITE_OPCODES:
        kind = "WRITE"
    elif packet.opcode == Opcode.PROBE:
        number = packet.extensions["peth"]["probe_id"]
    elif packet.opcode == Opcode.SACK and packet.extensions["seth"]["probe_reply"]:
        kind, number = "ANSWER", packet.extensions["seth"]["ack_psn_offset"] & 0xFFFF
    elif packet.opcode == Opcode.ENDPOINT_REQUEST and not packet.extensions["erth"]["operation"]:
        kind = "STATUS"
    qp = -1 if packet.dqp == _ENDPOINT_QPN else packet.dqp & _INDEX_MASK
    index = EvFields.unpack(packet.ev).index
    return kind, qp, number, index, bool(packet.retransmission), len(packet.payload)

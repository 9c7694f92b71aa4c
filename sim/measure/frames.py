"""Packets and frames of any length, and the settings of a NIC that takes them."""

from mrcnic.hdl.wire.headers import ETHERNET
from mrcnic.hdl.wire.opcodes import Dscp, Opcode, Role
from mrcnic.sim.codec.outer import Ethernet
from mrcnic.sim.codec.packet import Packet

__all__ = ["acknowledgement", "descriptor", "foreign_frame", "lane_settings", "write"]

_LOOPBACK = 0x20010DB8000A0000_0000000000000001
_UNDERLAY = 0x3FFF0000000200000000000000000001
_BLOCK, _USID = 0x5F000001, 0x2C05
_CARRIER = _BLOCK << 96 | _USID << 80
_OWN_MAC, _NEXT_HOP_MAC = 0x020000000001, 0x020000000002
_EV = 0xC0052010

#: For experiments (IEEE 802): nothing that a NIC takes for itself.
_FOREIGN_TYPE = 0x88B5


def lane_settings() -> dict:
    """Return members of ``LaneSettings`` for a NIC that talks to itself."""
    port = {
        "enable": 1,
        "own_mac": _OWN_MAC,
        "next_hop_mac": _NEXT_HOP_MAC,
        "underlay": _UNDERLAY,
        "usid": _USID,
    }
    return {
        "loopback": _LOOPBACK,
        "block": _BLOCK,
        "udp_port": 4791,
        "hop_limit": 64,
        "dscp": [Dscp[role.name].value for role in Role],
        "port": port,
    }


def write(octets: int | None, *, srv6: bool, psn: int) -> Packet:
    """Return an RDMA WRITE whose frame has so many octets, or that is without payload if ``None``.

    Raises
    ------
    ValueError
        If no frame has as many.
    """
    extensions = {"meth": {"msn": 1}, "tseth": {"ftype": 1}, "reth": {"rkey": 7}}
    packet = _packet(Opcode.WRITE_ONLY, srv6=srv6, psn=psn, extensions=extensions)
    if octets is not None:
        missing = octets - len(packet.encode())
        if missing <= 0 or missing % 4:
            raise ValueError(f"no write has a frame of {octets} octets")
        packet.payload = bytes(n & 0xFF for n in range(missing))
        extensions["reth"]["dmalen"] = missing
    return packet


def acknowledgement(*, srv6: bool, psn: int) -> Packet:
    """Return a transport ACK, the shortest packet there is."""
    return _packet(Opcode.ACK, srv6=srv6, psn=psn, extensions={"aeth": {"msn": 1}})


def _packet(opcode: Opcode, *, srv6: bool, **fields) -> Packet:
    packet = Packet(
        opcode=opcode,
        source=_LOOPBACK,
        destination=_LOOPBACK,
        ev=_EV,
        dqp=1,
        ethernet=Ethernet(destination=_NEXT_HOP_MAC, source=_OWN_MAC),
        **fields,
    )
    return packet.encapsulated(_UNDERLAY, _CARRIER) if srv6 else packet


def descriptor(packet: Packet) -> dict:
    """Return the :class:`~mrcnic.hdl.descriptor.outwards.TxDescriptor` of which a lane makes it."""
    extensions = packet.extensions
    if packet.opcode == Opcode.ACK:
        role, body = Role.CONTROL, {"ack": extensions["aeth"]}
    else:
        role = Role.TRIMMABLE
        body = {"write": {"meth": extensions["meth"], "reth": extensions["reth"]}}
    return {
        "opcode": packet.opcode,
        "psn": packet.psn,
        "role": role,
        "body": body,
        "octets": len(packet.payload),
        "dqp": packet.dqp,
        "ev": packet.ev,
        "destination": packet.destination,
        "srv6": packet.outer is not None,
        "carrier": _CARRIER,
    }


def foreign_frame(octets: int) -> bytes:
    """Return a frame of so many octets that is none of this protocol's."""
    header = ETHERNET.pack(destination=_OWN_MAC, source=_NEXT_HOP_MAC, ether_type=_FOREIGN_TYPE)
    return header + bytes(n & 0xFF for n in range(octets - len(header)))

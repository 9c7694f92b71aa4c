"""Every field of a packet by name, as the dissector for Wireshark names them too."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from mrcnic.hdl.wire.headers import BTH, ETHERNET, ICRC, IPV4, IPV6, SRH, UDP, VLAN, Header
from mrcnic.hdl.wire.opcodes import Opcode

from .entropy import EvFields
from .extensions import ICRC_OCTETS, extensions
from .outer import Ethernet, Outer
from .packet import Packet

__all__ = ["describe"]


def describe(packet: Packet, frame: bytes, *, icrc_good: bool = True) -> dict[str, dict[str, Any]]:
    """Return the headers of a packet that was read from ``frame``, in the order of the wire.

    Numbers are numbers, addresses and octets are text.

    Parameters
    ----------
    icrc_good : :class:`bool`
        Whether the ICRC is the right one.
    """
    at = _bth_at(packet, frame)
    found = {"ethernet": _ethernet(packet.ethernet)}
    if packet.outer:
        found["outer"] = _outer(packet.outer)
        if packet.outer.routing:
            found["route"] = _route(packet.outer)
    found["ip"] = _ip(packet, frame[at - UDP.octets - _ip_table(packet).octets :])
    found["udp"] = _read(UDP, frame[at - UDP.octets :])
    fields = EvFields.unpack(packet.ev)
    found["mrc"] = {
        "name": Opcode(packet.opcode).name,
        "ev": {"value": packet.ev, **fields._asdict()},
        "ce": packet.ce,
        "trimmed": packet.trimmed,
    }
    found["bth"] = _read(BTH, frame[at:])
    for name, table in extensions(packet.opcode, packet.timestamped):
        if name in packet.extensions:  # a switch may have cut it off
            found[name] = _in_order(table, packet.extensions[name])
    if packet.payload:
        found["payload"] = {"octets": len(packet.payload), "data": packet.payload.hex()}
    if not packet.trimmed:
        found["icrc"] = {
            **_read(ICRC, frame[-ICRC_OCTETS:]),
            "status": "Good" if icrc_good else "Bad",
        }
    return found


def _in_order(table: Header, values: dict[str, int]) -> dict[str, int]:
    return {name: values[name] for name in table.fields}


def _read(table: Header, octets: bytes) -> dict[str, int]:
    return _in_order(table, table.unpack(octets))


def _bth_at(packet: Packet, frame: bytes) -> int:
    """Return where the BTH starts: from the end on, if that is still there."""
    if not packet.trimmed:
        return len(frame) - packet.udp_length + UDP.octets
    at = ETHERNET.octets + VLAN.octets * len(packet.ethernet.tags)
    if packet.outer:
        at += IPV6.octets
        if routing := packet.outer.routing:
            at += SRH.octets + 16 * len(routing.segments) + len(routing.tlvs)
    return at + _ip_table(packet).octets + UDP.octets


def _ip_table(packet: Packet) -> Header:
    return IPV4 if packet.ipv4 else IPV6


def _mac(address: int) -> str:
    return address.to_bytes(6, "big").hex(":")


def _ethernet(ethernet: Ethernet) -> dict[str, Any]:
    found = {
        "destination": _mac(ethernet.destination),
        "source": _mac(ethernet.source),
    }
    if ethernet.tags:
        found["vid"] = [tag.vid for tag in ethernet.tags]
        found["priority"] = [tag.priority for tag in ethernet.tags]
    return found


def _outer(outer: Outer) -> dict[str, Any]:
    return {
        "source": str(IPv6Address(outer.source)),
        "destination": str(IPv6Address(outer.destination)),
        "dscp": outer.dscp,
        "ecn": outer.ecn,
        "flow_label": outer.flow_label,
        "hop_limit": outer.hop_limit,
    }


def _route(outer: Outer) -> dict[str, Any]:
    routing = outer.routing
    return {
        "segments": [str(IPv6Address(one)) for one in routing.segments],
        "segments_left": routing.segments_left,
        "flags": routing.flags,
        "tag": routing.tag,
        "tlvs": routing.tlvs.hex(),
    }


def _ip(packet: Packet, frame: bytes) -> dict[str, Any]:
    """Read the inner IP header at the start of ``frame``."""
    address = IPv4Address if packet.ipv4 else IPv6Address
    found = _read(_ip_table(packet), frame)
    return found | {name: str(address(found[name])) for name in ("source", "destination")}

"""Octets to fields, with every check on the way (docs/protocol.md, "What is accepted")."""

from typing import Any

from mrcnic.hdl.wire.headers import BTH, IPV6, UDP
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import NextHeader

from .dialect import Dialect
from .entropy import ev_from_wire
from .errors import DropReason, PacketError
from .extensions import ICRC_OCTETS, WRITE_OPCODES, extensions
from .outer import Outer
from .routing import read_routing_header

__all__ = ["parse_packet"]

_OUTER_FIELDS = ("source", "destination", "dscp", "ecn", "flow_label", "hop_limit")
_BTH_FIELDS = (
    "opcode", "dqp", "psn", "ack_request", "retransmission", "solicited", "migration", "reserved",
    "variant_reserved", "invariant_reserved",
)  # fmt: skip


def parse_packet(octets: bytes, dialect: Dialect) -> dict[str, Any]:
    """Return the fields of a :class:`~mrcnic.sim.codec.packet.Packet` by name.

    Parameters
    ----------
    octets : :class:`bytes`
        From the outermost IPv6 header to the ICRC, or as far as a switch has left it.
    dialect : :class:`~mrcnic.sim.codec.dialect.Dialect`
        What may be set.

    Raises
    ------
    PacketError
        If it is not a packet of ours, or does not pass a check.
    """
    first = _read_ipv6(octets)
    trimmed = first["dscp"] in dialect.trimmed
    _check_length(octets, first, trimmed)
    inner, outer = first, None
    next_header, at = first["next_header"], IPV6.octets
    if next_header in (NextHeader.IPV6, NextHeader.ROUTING):
        routing = None
        if next_header == NextHeader.ROUTING:
            next_header, length, routing = read_routing_header(octets[at:])
            at += length
        if next_header != NextHeader.IPV6:
            raise PacketError(DropReason.BAD_NEXT_HEADER, f"next header {next_header} is not IPv6")
        outer = Outer(routing=routing, **{name: first[name] for name in _OUTER_FIELDS})
        octets = octets[at:]
        inner = _read_ipv6(octets)
        _check_length(octets, inner, trimmed)
    if inner["next_header"] != NextHeader.UDP:
        raise PacketError(
            DropReason.BAD_NEXT_HEADER, f"next header {inner['next_header']} is not UDP"
        )
    return {"outer": outer, "trimmed": trimmed, **_parse_inner(octets, inner, trimmed, dialect)}


def _read_ipv6(octets: bytes) -> dict[str, int]:
    if len(octets) < IPV6.octets:
        raise PacketError(
            DropReason.TRUNCATED, f"the packet ends {len(octets)} octets into an IPv6 header"
        )
    header = IPV6.unpack(octets)
    if header["version"] != 6:
        raise PacketError(DropReason.BAD_VERSION, f"IP version {header['version']} is not 6")
    return header


def _check_length(octets: bytes, header: dict[str, int], trimmed: bool) -> None:
    """Compare the payload length with what is there. A trimmed packet's is the old one."""
    there = len(octets) - IPV6.octets
    claimed = header["payload_length"]
    if there < claimed and not trimmed:
        raise PacketError(
            DropReason.TRUNCATED, f"IPv6 payload length is {claimed}, {there} octets are there"
        )
    if there > claimed:
        raise PacketError(
            DropReason.BAD_LENGTH, f"IPv6 payload length is {claimed}, {there} octets are there"
        )


def _parse_inner(
    octets: bytes, ipv6: dict[str, int], trimmed: bool, dialect: Dialect
) -> dict[str, Any]:
    at = IPV6.octets + UDP.octets + BTH.octets
    if len(octets) < at + (0 if trimmed else ICRC_OCTETS):
        reason = DropReason.TRUNCATED if trimmed else DropReason.BAD_LENGTH
        raise PacketError(reason, f"a packet of {len(octets)} octets has no room for a BTH")
    udp = UDP.unpack(octets[IPV6.octets :])
    if udp["destination_port"] not in dialect.udp_ports:
        raise PacketError(
            DropReason.BAD_PORT, f"UDP port {udp['destination_port']} is not one of ours"
        )
    if udp["length"] != ipv6["payload_length"]:
        raise PacketError(
            DropReason.BAD_LENGTH,
            f"UDP length is {udp['length']}, IPv6 payload length {ipv6['payload_length']}",
        )
    if not trimmed and octets[-ICRC_OCTETS:] != icrc(octets[:-ICRC_OCTETS]):
        raise PacketError(DropReason.BAD_ICRC, "the ICRC does not match")
    bth = BTH.unpack(octets[IPV6.octets + UDP.octets :])
    tables = _check_bth(bth, dialect)
    if trimmed:
        values = _read_trimmed(octets, at, bth, tables)
        payload = b""
    else:
        values = {}
        end = len(octets) - ICRC_OCTETS
        for name, table in tables:
            if at + table.octets > end:
                raise PacketError(
                    DropReason.BAD_LENGTH, f"the packet is too short for its {name.upper()}"
                )
            values[name] = table.unpack(octets[at:])
            at += table.octets
        payload = _read_payload(octets[at:end], bth)
    port = udp["destination_port"]
    return {
        "source": ipv6["source"],
        "destination": ipv6["destination"],
        "ev": ev_from_wire(udp["source_port"], ipv6["flow_label"], swap=dialect.swap_ev),
        "extensions": values,
        "payload": payload,
        "dscp": ipv6["dscp"],
        "ecn": ipv6["ecn"],
        "flow_label_high": ipv6["flow_label"] >> 16,
        "hop_limit": ipv6["hop_limit"],
        "udp_port": None if port == dialect.udp_ports[0] else port,
        **{name: bth[name] for name in _BTH_FIELDS},
    }


def _check_bth(bth: dict[str, int], dialect: Dialect) -> tuple:
    if bth["tver"]:
        raise PacketError(DropReason.BAD_TVER, f"transport version {bth['tver']} is not 0")
    if bth["p_key"] != dialect.p_key:
        raise PacketError(DropReason.BAD_PKEY, f"partition key {bth['p_key']:#06x} is not ours")
    tables = extensions(bth["opcode"], bool(bth["timestamped"]))
    if tables is None:
        raise PacketError(DropReason.BAD_OPCODE, f"opcode {bth['opcode']:#04x} is not one of ours")
    return tables


def _read_trimmed(octets: bytes, at: int, bth: dict[str, int], tables: tuple) -> dict:
    """Read what a switch has left of a write; METH, and TSETH if there was one, must be there."""
    if bth["opcode"] not in WRITE_OPCODES:
        raise PacketError(DropReason.BAD_OPCODE, f"opcode {bth['opcode']:#04x} is never trimmed")
    values = {}
    for name, table in tables:
        if at + table.octets > len(octets):
            if name in ("meth", "tseth"):
                raise PacketError(
                    DropReason.TRUNCATED, f"the packet was trimmed in front of its {name.upper()}"
                )
            break
        values[name] = table.unpack(octets[at:])
        at += table.octets
    return values


def _read_payload(padded: bytes, bth: dict[str, int]) -> bytes:
    pad = bth["pad"]
    if bth["opcode"] not in WRITE_OPCODES:
        if padded:
            raise PacketError(
                DropReason.BAD_LENGTH, f"{len(padded)} octets stand behind the last header"
            )
        if pad:
            raise PacketError(DropReason.BAD_PAD, "there is a pad without a payload")
    if len(padded) % 4 or pad > len(padded):
        raise PacketError(
            DropReason.BAD_PAD, f"a pad of {pad} octets does not go with {len(padded)} octets"
        )
    return padded[: len(padded) - pad]

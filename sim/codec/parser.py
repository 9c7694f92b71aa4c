"""Octets to fields, with every check on the way (docs/protocol.md, "What is accepted")."""

from typing import Any

from mrcnic.hdl.wire.headers import BTH, UDP
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader

from .dialect import Dialect
from .entropy import ev_from_wire
from .errors import DropReason, PacketError
from .extensions import ICRC_OCTETS, WRITE_OPCODES, extensions
from .ip import IpFields, check_ipv4_checksum, check_ipv4_shape, read_ip
from .outer import Outer
from .routing import read_routing_header

__all__ = ["parse_packet"]

#: Next headers of an outer header, each with the version of the IP header that it announces.
_ENCAPSULATED = {NextHeader.IPV6: 6, NextHeader.IPV4: 4, NextHeader.ROUTING: None}

_OUTER_FIELDS = ("source", "destination", "dscp", "ecn", "flow_label", "hop_limit")
_BTH_FIELDS = (
    "opcode", "dqp", "psn", "ack_request", "retransmission", "solicited", "migration", "reserved",
    "variant_reserved", "invariant_reserved",
)  # fmt: skip


def parse_packet(
    octets: bytes, dialect: Dialect, *, version: int | None = None
) -> tuple[dict[str, Any], bool]:
    """Read a packet.

    Parameters
    ----------
    octets : :class:`bytes`
        From the outermost IP header to the ICRC, or as far as a switch has left it.
    dialect : :class:`~mrcnic.sim.codec.dialect.Dialect`
        What may be set.
    version : :class:`int`, optional
        Version of the outermost IP header, if the Ethernet type tells it.

    Returns
    -------
    The fields of a :class:`~mrcnic.sim.codec.packet.Packet` by name, and whether its ICRC is right,
    which counts as right if a switch has cut it off.

    Raises
    ------
    PacketError
        If it is not a packet of ours, or does not pass another check.
    """
    first = inner = read_ip(octets, version=version)
    outer = None
    rest = octets
    if first.version == 6 and first.next_header in _ENCAPSULATED:
        outer, kind, rest = _read_outer(octets, first)
        inner = read_ip(rest, version=_ENCAPSULATED[kind])
    if inner.next_header != NextHeader.UDP:
        raise PacketError(DropReason.NOT_UDP, f"next header {inner.next_header} is not UDP")
    if inner.version == 4:
        check_ipv4_shape(rest)
    at = inner.octets + UDP.octets + BTH.octets
    if len(rest) < at:
        raise PacketError(DropReason.BAD_LENGTH, f"a packet of {len(rest)} octets has no BTH")
    udp = UDP.unpack(rest[inner.octets :])
    port = udp["destination_port"]
    if port not in dialect.udp_ports:
        raise PacketError(DropReason.BAD_PORT, f"UDP port {port} is not one of ours")
    if inner.version == 4:
        check_ipv4_checksum(rest)
    if outer and outer.ecn == Ecn.CE and inner.ecn == Ecn.NOT_ECT:
        raise PacketError(DropReason.BAD_ECN, "congestion is marked outside a packet without ECN")
    trimmed, good = first.dscp in dialect.trimmed, True
    for header, there in ((first, octets), (inner, rest)):
        _check_length(len(there) - header.octets, header.payload_length, trimmed)
    bth = BTH.unpack(rest[inner.octets + UDP.octets :])
    tables = _check_bth(bth, dialect)
    if trimmed:
        values, payload = _read_trimmed(rest, at, bth, tables), b""
    else:
        _check_length(inner.payload_length, udp["length"], trimmed)
        values, padded = _read_extensions(rest[:-ICRC_OCTETS], at, tables)
        payload = _read_payload(padded, bth)
        good = rest[-ICRC_OCTETS:] == icrc(rest[:-ICRC_OCTETS])
    fields = {
        "source": inner.source,
        "destination": inner.destination,
        "ipv4": inner.version == 4,
        "identification": inner.identification,
        "ev": ev_from_wire(udp["source_port"], inner.flow_label, swap=dialect.swap_ev),
        "extensions": values,
        "payload": payload,
        "dscp": inner.dscp,
        "ecn": inner.ecn,
        "flow_label_high": inner.flow_label >> 16,
        "hop_limit": inner.hop_limit,
        "udp_port": None if port == dialect.udp_ports[0] else port,
        "outer": outer,
        "trimmed": trimmed,
        **{name: bth[name] for name in _BTH_FIELDS},
    }
    return fields, good


def _read_outer(octets: bytes, header: IpFields) -> tuple[Outer, int, bytes]:
    """Read what stands in front of the inner packet; return it, that one's kind, and that one."""
    next_header, at, routing = header.next_header, header.octets, None
    if next_header == NextHeader.ROUTING:
        next_header, length, routing = read_routing_header(octets[at:])
        at += length
    if next_header not in (NextHeader.IPV6, NextHeader.IPV4):
        raise PacketError(
            DropReason.BAD_NEXT_HEADER, f"next header {next_header} is not IPv6 or IPv4"
        )
    fields = {name: getattr(header, name) for name in _OUTER_FIELDS}
    return Outer(routing=routing, **fields), next_header, octets[at:]


def _check_length(there: int, claimed: int, trimmed: bool) -> None:
    """Compare lengths. A trimmed packet's may be what it was before the cut."""
    if there > claimed or (there < claimed and not trimmed):
        raise PacketError(
            DropReason.BAD_LENGTH, f"a header claims {claimed} octets, but {there} are there"
        )


def _check_bth(bth: dict[str, int], dialect: Dialect) -> tuple:
    if bth["tver"]:
        raise PacketError(DropReason.BAD_TVER, f"transport version {bth['tver']} is not 0")
    if bth["p_key"] != dialect.p_key:
        raise PacketError(DropReason.BAD_PKEY, f"partition key {bth['p_key']:#06x} is not ours")
    tables = extensions(bth["opcode"], bool(bth["timestamped"]))
    if tables is None:
        raise PacketError(DropReason.BAD_OPCODE, f"opcode {bth['opcode']:#04x} is not one of ours")
    return tables


def _read_extensions(octets: bytes, at: int, tables: tuple) -> tuple[dict, bytes]:
    """Read the headers behind the BTH; return them and what stands behind them."""
    values = {}
    for name, table in tables:
        if at + table.octets > len(octets):
            raise PacketError(
                DropReason.BAD_LENGTH, f"the packet is too short for its {name.upper()}"
            )
        values[name] = table.unpack(octets[at:])
        at += table.octets
    return values, octets[at:]


def _read_trimmed(octets: bytes, at: int, bth: dict[str, int], tables: tuple) -> dict:
    """Read what a switch has left of a write; METH, and TSETH if there was one, must be there."""
    if bth["opcode"] not in WRITE_OPCODES:
        raise PacketError(DropReason.BAD_OPCODE, f"opcode {bth['opcode']:#04x} is never trimmed")
    kept = tuple(one for one in tables if one[0] in ("meth", "tseth"))
    return _read_extensions(octets, at, kept)[0]


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

"""Which headers follow the BTH, by opcode (docs/protocol.md, "Opcodes")."""

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.headers import Header
from mrcnic.hdl.wire.opcodes import Dscp, NackReason, Opcode, Syndrome

__all__ = [
    "ICRC_OCTETS",
    "IMMEDIATE_OPCODES",
    "VALUE_NAMES",
    "WRITE_OPCODES",
    "default_dscp",
    "extensions",
]

#: Length of the ICRC, which ends every packet.
ICRC_OCTETS = headers.ICRC.octets

#: Opcodes of packets that carry a piece of a message.
WRITE_OPCODES = frozenset({
    Opcode.WRITE_FIRST,
    Opcode.WRITE_MIDDLE,
    Opcode.WRITE_LAST,
    Opcode.WRITE_LAST_IMM,
    Opcode.WRITE_ONLY,
    Opcode.WRITE_ONLY_IMM,
})

#: Those of them that carry immediate data.
IMMEDIATE_OPCODES = frozenset({Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM})

#: Header and field of values that have names.
VALUE_NAMES = {
    ("bth", "opcode"): Opcode,
    ("neth", "reason"): NackReason,
    ("aeth", "syndrome"): Syndrome,
}

_CONTROL = {
    Opcode.ACK: (("aeth", headers.AETH),),
    Opcode.ENDPOINT_REQUEST: (("erth", headers.ERTH),),
    Opcode.ENDPOINT_RESPONSE: (("eeth", headers.EETH),),
    Opcode.SACK: (("seth", headers.SETH), ("cc_state", headers.CC_STATE)),
    Opcode.NACK: (("neth", headers.NETH),),
    Opcode.PROBE: (("peth", headers.PETH),),
}


def _write(opcode: Opcode, timestamped: bool) -> tuple[tuple[str, Header], ...]:
    names = [("meth", headers.METH)]
    if timestamped:
        names.append(("tseth", headers.TSETH))
    names.append(("reth", headers.RETH))
    if opcode in IMMEDIATE_OPCODES:
        names.append(("immdt", headers.IMMDT))
    return tuple(names)


_EXTENSIONS = {
    (opcode, timestamped): _CONTROL.get(opcode) or _write(opcode, timestamped)
    for opcode in Opcode
    for timestamped in (False, True)
}


def extensions(opcode: int, timestamped: bool) -> tuple[tuple[str, Header], ...] | None:
    """Return names and tables of the headers behind the BTH, or ``None`` for a foreign opcode."""
    return _EXTENSIONS.get((opcode, timestamped))


def default_dscp(opcode: int, retransmission: bool = False) -> int:
    """Return the DSCP value that a packet is sent with, given default values of the roles."""
    if opcode in WRITE_OPCODES:
        return Dscp.TRIMMABLE_RETX if retransmission else Dscp.TRIMMABLE
    return Dscp.NO_TRIM if opcode == Opcode.PROBE else Dscp.CONTROL

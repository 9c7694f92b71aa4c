"""What stands behind the BTH."""

from amaranth.hdl import Cat, Module, Signal, Value

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Opcode

from .laying import lay, lay_view

__all__ = [
    "EXTENSION_OCTETS",
    "EXTENSION_OCTETS_MAX",
    "PAYLOAD_EXTENSION_OCTETS",
    "build_extension",
]

#: Headers behind the BTH, by opcode.
_EXTENSIONS = {
    (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST, Opcode.WRITE_ONLY): (
        headers.METH, headers.TSETH, headers.RETH,
    ),
    (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM): (
        headers.METH, headers.TSETH, headers.RETH, headers.IMMDT,
    ),
    (Opcode.SACK,): (headers.SETH, headers.CC_STATE),
    (Opcode.NACK,): (headers.NETH,),
    (Opcode.PROBE,): (headers.PETH,),
    (Opcode.ACK,): (headers.AETH,),
    (Opcode.ENDPOINT_REQUEST,): (headers.ERTH,),
    (Opcode.ENDPOINT_RESPONSE,): (headers.EETH,),
}  # fmt: skip


def _octets(extension):
    return sum(header.octets for header in extension)


#: Octets behind the BTH, by opcode. Others have none.
EXTENSION_OCTETS = {
    opcode: _octets(extension) for opcodes, extension in _EXTENSIONS.items() for opcode in opcodes
}

#: Octets of the longest.
EXTENSION_OCTETS_MAX = max(EXTENSION_OCTETS.values())

#: Octets of those that payload may follow.
PAYLOAD_EXTENSION_OCTETS = tuple(
    _octets(extension) for extension in _EXTENSIONS.values() if headers.RETH in extension
)

#: Of the ftype field of TSETH, PETH and ERTH.
_FTYPE = 1


def build_extension(m: Module, descriptor, timestamp: Value) -> tuple[Value, Value]:
    """Return the headers behind the BTH, and whether there is a TSETH.

    Fields that a descriptor's body leaves to the lane are filled in with ``timestamp``.
    """
    body = descriptor.body
    stamp = {"tx_timestamp": timestamp, "ftype": _FTYPE}

    def stamped(header, view):
        return lay(header, **{**{name: view[name] for name in header.fields}, **stamp})

    built = {
        headers.METH: lay_view(body.write.meth),
        headers.TSETH: lay(headers.TSETH, **stamp),
        headers.RETH: lay_view(body.write.reth),
        headers.IMMDT: lay(headers.IMMDT, immediate=body.write.immediate),
        headers.SETH: lay_view(body.sack.seth),
        headers.CC_STATE: lay_view(body.sack.cc_state),
        headers.NETH: lay_view(body.nack),
        headers.PETH: stamped(headers.PETH, body.probe),
        headers.AETH: lay_view(body.ack),
        headers.ERTH: stamped(headers.ERTH, body.request),
        headers.EETH: lay_view(body.response),
    }

    octets = Signal(8 * EXTENSION_OCTETS_MAX)
    timestamped = Signal()
    with m.Switch(descriptor.opcode):
        for opcodes, extension in _EXTENSIONS.items():
            with m.Case(*opcodes):
                m.d.comb += octets.eq(Cat(built[header] for header in extension))
                m.d.comb += timestamped.eq(headers.TSETH in extension)
    return octets, timestamped

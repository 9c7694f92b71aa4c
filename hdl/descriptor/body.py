"""What a packet says beyond its BTH. No logic."""

from amaranth.lib import data

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = ["Body", "SackBody", "WriteBody"]


class WriteBody(data.StructLayout):
    """Headers of a write packet, as numbers. TSETH is filled in by the lane."""

    def __init__(self):
        super().__init__({
            "meth": HeaderLayout(headers.METH),
            "reth": HeaderLayout(headers.RETH),
            "immediate": 32,
        })


class SackBody(data.StructLayout):
    """Headers of a SACK, as numbers."""

    def __init__(self):
        super().__init__({
            "seth": HeaderLayout(headers.SETH),
            "cc_state": HeaderLayout(headers.CC_STATE),
        })


class Body(data.UnionLayout):
    """What stands behind the BTH; the opcode says which member.

    Members
    -------
    write, sack, nack, ack, probe, request, response
        Of opcodes ``WRITE_*``, ``SACK``, ``NACK``, ``ACK``, ``PROBE``, ``ENDPOINT_REQUEST``,
        ``ENDPOINT_RESPONSE``.
    """

    def __init__(self):
        super().__init__({
            "write": WriteBody(),
            "sack": SackBody(),
            "nack": HeaderLayout(headers.NETH),
            "ack": HeaderLayout(headers.AETH),
            "probe": HeaderLayout(headers.PETH),
            "request": HeaderLayout(headers.ERTH),
            "response": HeaderLayout(headers.EETH),
        })

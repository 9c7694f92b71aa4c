"""The receive descriptor of a packet, as one number."""

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.body import SackBody, WriteBody
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.wire.headers import (
    AETH,
    BTH,
    CC_STATE,
    IMMDT,
    IPV4,
    IPV6,
    METH,
    NETH,
    PETH,
    RETH,
    SETH,
    TSETH,
    UDP,
)

from .judge import Fate

__all__ = ["DescriptorMaker"]

_SACK, _PROBE = 0xDC, 0xDE
_RESPONSES = {_SACK: SETH, 0xDD: NETH, 0xD1: AETH}


class DescriptorMaker:
    """Make the descriptors that a lane, port 0, is to hand on.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    """

    def __init__(self, config: NicConfig):
        self._places = {name: entry.offset for name, entry in RxDescriptor(config)}
        self._write = {name: entry.offset for name, entry in WriteBody()}
        self._sack = {name: entry.offset for name, entry in SackBody()}

    def make(self, fate: Fate) -> int:
        """Return the descriptor of a packet that is handed on, with its payload if it has one."""
        inner = fate.inner
        is_ipv4 = inner[0] >> 4 == 4
        ip = (IPV4 if is_ipv4 else IPV6).unpack(inner)
        at = IPV4.octets if is_ipv4 else IPV6.octets
        bth = BTH.unpack(inner[at + UDP.octets :])
        rest = inner[at + UDP.octets + BTH.octets :]
        label = 0 if is_ipv4 else ip["flow_label"] & 0xFFFF
        is_trimmed = fate.event == "rx_trimmed"
        opcode = bth["opcode"]
        values = {name: bth[name] for name in ("opcode", "dqp", "psn", "ack_request")}
        values["retransmission"] = bth["retransmission"]
        values["ce"] = int(fate.outer_ce or ip["ecn"] == 3)
        values["ev"] = UDP.unpack(inner[at:])["source_port"] << 16 | label
        if opcode in _RESPONSES:
            values["body"] = self._response(opcode, rest)
            return self._join(values)
        values["pad"] = bth["pad"]
        values["trimmed"], values["last_hop"] = int(is_trimmed), int(fate.last_hop)
        if opcode == _PROBE:
            values["body"] = _number(PETH, rest)
            values["tx_timestamp"] = PETH.unpack(rest)["tx_timestamp"]
            return self._join(values)
        values["body"] = _number(METH, rest) << self._write["meth"]
        rest = rest[METH.octets :]
        if bth["timestamped"]:
            values["tx_timestamp"] = TSETH.unpack(rest)["tx_timestamp"]
            rest = rest[TSETH.octets :]
        if not is_trimmed:
            values["body"] |= _number(RETH, rest) << self._write["reth"]
            # Without immediate data its place holds whatever stands there.
            values["body"] |= _number(IMMDT, rest[RETH.octets :]) << self._write["immediate"]
            values["octets"] = len(fate.payload)
            values["payload"] = int(len(fate.payload) > 0)
        return self._join(values)

    def _response(self, opcode, rest):
        if opcode != _SACK:
            return _number(_RESPONSES[opcode], rest)
        state = _number(CC_STATE, rest[SETH.octets :]) << self._sack["cc_state"]
        return _number(SETH, rest) << self._sack["seth"] | state

    def _join(self, values):
        return sum(value << self._places[name] for name, value in values.items())


def _number(header, octets):
    return int.from_bytes(octets[: header.octets], "big")

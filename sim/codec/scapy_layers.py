"""MRC as layers of scapy, made from the tables of :mod:`mrcnic.hdl.wire.headers`.

After :func:`bind`, packets to RoCEv2's UDP ports with an opcode of MRC's group are read as
``UDP / MrcBTH / MrcMETH / MrcTSETH / MrcRETH / MrcData / MrcICRC`` and so on. Other opcodes stay
with :mod:`scapy.contrib.roce`. Fields have the names that they have in those tables. What is left
out of a packet that is written is filled in: pad, the bit for a TSETH, and the ICRC.

Examples
--------
>>> from scapy.layers.inet import UDP
>>> from scapy.layers.inet6 import IPv6
>>> ack = MrcBTH(opcode="ACK", dqp=0x34, psn=0x105) / MrcAETH(msn=0x22) / MrcICRC()
>>> packet = IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=0xC005, chksum=0) / ack
>>> bind()
>>> packet = IPv6(bytes(packet))
>>> packet[MrcAETH].msn, packet[MrcICRC].right
(34, True)
>>> unbind()
"""

from typing import ClassVar

from scapy.config import conf
from scapy.contrib import roce
from scapy.fields import BitEnumField, BitField, StrField, XBitField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw, bind_top_down

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Opcode, Syndrome

from .dialect import DEFAULT_DIALECT
from .extensions import ICRC_OCTETS, VALUE_NAMES, WRITE_OPCODES, extensions

__all__ = [
    "LAYERS",
    "MrcAETH",
    "MrcBTH",
    "MrcCCSTATE",
    "MrcData",
    "MrcEETH",
    "MrcERTH",
    "MrcICRC",
    "MrcIMMDT",
    "MrcMETH",
    "MrcNETH",
    "MrcPETH",
    "MrcRETH",
    "MrcSETH",
    "MrcTSETH",
    "bind",
    "unbind",
]

#: Upper three bits of an opcode of MRC.
_GROUP = Opcode.WRITE_FIRST >> 5

#: Values of fields that are not 0 if left out. ``None`` is what the rest of the packet gives.
_DEFAULTS = {
    ("bth", "opcode"): Opcode.WRITE_ONLY,
    ("bth", "p_key"): DEFAULT_DIALECT.p_key,
    ("bth", "pad"): None,
    ("bth", "timestamped"): None,
    ("tseth", "ftype"): 1,
    ("neth", "cc_type"): 2,
    ("peth", "ftype"): 1,
    ("erth", "ftype"): 1,
    ("aeth", "syndrome"): Syndrome.ACK,
    ("icrc", "crc"): None,
}

#: Fields that are shown as decimal numbers; all others of more than a few bits are not.
_DECIMAL_BITS = 4


def _field(header: str, name: str, bits: int) -> BitField:
    default = _DEFAULTS.get((header, name), 0)
    if names := VALUE_NAMES.get((header, name)):
        return BitEnumField(name, default, bits, {int(one): one.name for one in names})
    return (BitField if bits <= _DECIMAL_BITS else XBitField)(name, default, bits)


def _bth(layer: Packet) -> "MrcBTH":
    while not isinstance(layer, MrcBTH):
        layer = layer.underlayer
    return layer


class _Layer(Packet):
    """What all layers share: the opcode says which one is next."""

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the class of what is behind this layer."""
        bth = _bth(self)
        names = [name for name, _ in extensions(bth.opcode, bool(bth.timestamped)) or ()]
        if bth.trimmed:
            names = [name for name in names if name in ("meth", "tseth")]
        behind = ["bth", *names].index(self.header)
        if behind < len(names):
            table = getattr(headers, names[behind].upper())
            found = LAYERS[names[behind]] if len(payload) >= table.octets else conf.raw_layer
        elif bth.trimmed or not names:
            found = conf.raw_layer
        elif len(payload) > ICRC_OCTETS and bth.opcode in WRITE_OPCODES:
            found = MrcData
        else:
            found = MrcICRC if len(payload) == ICRC_OCTETS else conf.raw_layer
        return found


def _fields(header: str) -> list[BitField]:
    table = getattr(headers, header.upper())
    return [_field(header, name, bits) for name, bits in table.fields.items()]


def _layer(header: str) -> type[Packet]:
    """Return the layer of one of the headers behind the BTH."""
    name = header.upper()
    return type(_Layer)(
        f"Mrc{name.replace('_', '')}",
        (_Layer,),
        {
            "__module__": __name__,
            "__doc__": f"{name} of MRC.",
            "name": f"MRC {name}",
            "header": header,
            "fields_desc": _fields(header),
        },
    )


class MrcBTH(_Layer):
    """Base transport header."""

    name = "MRC BTH"
    header = "bth"
    fields_desc = _fields("bth")

    @classmethod
    def dispatch_hook(cls, octets: bytes | None = None, *_, **__) -> type[Packet]:
        """Return the class that reads ``octets``: RoCEv2's has the other groups of opcodes."""
        return roce.BTH if octets and octets[0] >> 5 != _GROUP else cls

    @property
    def trimmed(self) -> bool:
        """Whether a switch has cut the packet, by the outermost DSCP value."""
        ip = layer = self
        while layer := layer.underlayer:
            if isinstance(layer, IP | IPv6):
                ip = layer
        dscp = getattr(ip, "tos" if isinstance(ip, IP) else "tc", 0) >> 2
        return dscp in DEFAULT_DIALECT.trimmed

    def icrc_of(self, octets: bytes) -> int:
        """Return what the ICRC must be, given the octets from here to the pad."""
        udp = self.underlayer
        ip = udp and udp.underlayer
        if not isinstance(udp, UDP) or not isinstance(ip, IP | IPv6):
            return 0
        port = udp.dport  # given by this layer if by nobody else
        ip, udp = ip.copy(), udp.copy()
        ip.remove_payload()
        udp.remove_payload()
        udp.dport = port
        packet = bytes(ip / udp / Raw(octets + bytes(ICRC_OCTETS)))
        return int.from_bytes(icrc(packet[:-ICRC_OCTETS]), "big")

    def post_build(self, octets: bytes, payload: bytes) -> bytes:
        """Fill in what was left out."""
        values = {field.name: self.getfieldval(field.name) for field in self.fields_desc}
        if values["pad"] is None:
            values["pad"] = -len(self[MrcData].load) % 4 if MrcData in self else 0
        if values["timestamped"] is None:
            values["timestamped"] = int(MrcTSETH in self)
        octets = headers.BTH.pack(**values) + payload
        if MrcICRC in self and self[MrcICRC].crc is None:
            octets = octets[:-ICRC_OCTETS]
            octets += headers.ICRC.pack(crc=self.icrc_of(octets))
        return octets


class MrcICRC(Packet):
    """Invariant CRC; as a number, its first octet is the most significant."""

    name = "MRC ICRC"
    fields_desc = _fields("icrc")

    @property
    def right(self) -> bool:
        """Whether it is what it must be."""
        bth = _bth(self)
        return self.crc == bth.icrc_of(bytes(bth)[:-ICRC_OCTETS])


class MrcData(Packet):
    """Payload of a write; its pad is not part of ``load``."""

    name = "MRC data"
    fields_desc: ClassVar = [StrField("load", b"")]

    def do_dissect(self, octets: bytes) -> bytes:
        """Read everything up to the ICRC."""
        end = len(octets) - ICRC_OCTETS
        self.raw_packet_cache, self.raw_packet_cache_fields = octets[:end], {}
        self.fields["load"] = octets[: max(0, end - _bth(self).pad)]
        self.explicit = 1
        return octets[end:]

    def post_build(self, octets: bytes, payload: bytes) -> bytes:
        """Add the pad."""
        return octets + bytes(-len(octets) % 4) + payload

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the class of what is behind: nothing but the ICRC is."""
        return MrcICRC


MrcMETH = _layer("meth")
MrcTSETH = _layer("tseth")
MrcRETH = _layer("reth")
MrcIMMDT = _layer("immdt")
MrcSETH = _layer("seth")
MrcCCSTATE = _layer("cc_state")
MrcNETH = _layer("neth")
MrcPETH = _layer("peth")
MrcERTH = _layer("erth")
MrcEETH = _layer("eeth")
MrcAETH = _layer("aeth")

#: Layer of each header behind the BTH, by the name that it has in a
#: :class:`~mrcnic.sim.codec.packet.Packet`.
LAYERS = {
    layer.header: layer
    for layer in (
        MrcMETH, MrcTSETH, MrcRETH, MrcIMMDT, MrcSETH, MrcCCSTATE, MrcNETH, MrcPETH, MrcERTH,
        MrcEETH, MrcAETH,
    )
}  # fmt: skip

bind_top_down(UDP, MrcBTH, dport=DEFAULT_DIALECT.udp_ports[0])


def bind() -> None:
    """Let scapy read what goes to RoCEv2's UDP ports with these layers."""
    unbind()
    ours = [({"dport": port}, MrcBTH) for port in DEFAULT_DIALECT.udp_ports]
    # In front of what scapy's own RoCE has put there: the first that fits is taken.
    UDP.payload_guess = [*ours, *UDP.payload_guess]


def unbind() -> None:
    """Undo :func:`bind`."""
    UDP.payload_guess = [one for one in UDP.payload_guess if one[1] is not MrcBTH]

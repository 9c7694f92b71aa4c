"""Packets as Python objects: octets to fields and back."""

from dataclasses import dataclass, field, replace

from mrcnic.hdl.wire.headers import BTH, UDP
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader

from .dialect import DEFAULT_DIALECT, Dialect
from .entropy import ev_to_wire
from .errors import DropReason, PacketError
from .extensions import ICRC_OCTETS, WRITE_OPCODES, default_dscp, extensions
from .ip import IpFields
from .outer import Ethernet, Outer
from .parser import parse_packet
from .routing import route

__all__ = ["Packet", "nominal_octets"]

#: Congestion control counts this much for a packet besides its UDP length.
_NOMINAL_IP_OCTETS = 40

#: Shortest Ethernet frame without its check sequence. No packet of ours is so short.
_MIN_FRAME_OCTETS = 60


def nominal_octets(udp_length: int) -> int:
    """Return what a packet counts in congestion windows, in octets."""
    return udp_length + _NOMINAL_IP_OCTETS


@dataclass(kw_only=True)
class Packet:
    """One packet of the protocol.

    Lengths, pad and ICRC are not here: they follow from the rest.

    Attributes
    ----------
    opcode : :class:`int`
        One of :class:`~mrcnic.hdl.wire.opcodes.Opcode`.
    source, destination : :class:`int`
        Addresses of the NICs (inner IP header).
    ipv4 : :class:`bool`
        The inner IP header is IPv4's, addresses have 32 bits, and there is no flow label: of the
        EV only the half in the source port is carried, and the other half must be 0.
    identification : :class:`int`
        Of an IPv4 header.
    ev : :class:`int`
        Entropy value.
    dqp, psn, ack_request, retransmission : :class:`int`
        Of the BTH.
    solicited, migration, reserved, variant_reserved, invariant_reserved : :class:`int`
        Of the BTH too, of no use.
    extensions : :class:`dict` of :class:`str` to :class:`dict`
        Headers behind the BTH by name (``"meth"``, ``"tseth"``, ``"reth"``, ``"immdt"``,
        ``"seth"``, ``"cc_state"``, ``"neth"``, ``"peth"``, ``"erth"``, ``"eeth"``, ``"aeth"``),
        each with the fields of its table in :mod:`mrcnic.hdl.wire.headers`. A ``"tseth"`` makes
        the BTH say that there is one; fields left out are zero.
    payload : :class:`bytes`
        Without pad.
    dscp, ecn, flow_label_high, hop_limit : :class:`int`
        Of the inner IP header; ``flow_label_high`` is the four bits that no EV uses. The DSCP
        value is by default the one of the opcode's role.
    udp_port : :class:`int` or None
        UDP destination port, if it is not the dialect's first.
    outer : :class:`Outer` or None
        Outer IPv6 header.
    ethernet : :class:`Ethernet` or None
        Frame header; without, the octets start with the outermost IP header.
    trimmed : :class:`bool`
        A switch has cut the packet: there is no payload and there may be no RETH. Such packets are
        only read, never written.
    """

    opcode: int
    source: int
    destination: int
    ipv4: bool = False
    identification: int = 0
    ev: int = 0
    dqp: int
    psn: int
    ack_request: int = 0
    retransmission: int = 0
    solicited: int = 0
    migration: int = 0
    reserved: int = 0
    variant_reserved: int = 0
    invariant_reserved: int = 0
    extensions: dict[str, dict[str, int]] = field(default_factory=dict)
    payload: bytes = b""
    dscp: int | None = None
    ecn: int = Ecn.ECT0
    flow_label_high: int = 0
    hop_limit: int = 64
    udp_port: int | None = None
    outer: Outer | None = None
    ethernet: Ethernet | None = None
    trimmed: bool = False

    def __post_init__(self):
        if self.dscp is None:
            self.dscp = default_dscp(self.opcode, bool(self.retransmission))

    @property
    def timestamped(self) -> bool:
        """Whether there is a TSETH."""
        return "tseth" in self.extensions

    @property
    def ce(self) -> bool:
        """Whether congestion was seen on the way, by either header (RFC 6040)."""
        return Ecn.CE in (self.ecn, self.outer.ecn if self.outer else Ecn.NOT_ECT)

    @property
    def pad(self) -> int:
        """Octets between payload and ICRC."""
        return -len(self.payload) % 4

    @property
    def udp_length(self) -> int:
        """Length of UDP header and what it carries, in octets."""
        tables = extensions(self.opcode, self.timestamped)
        sizes = sum(table.octets for _, table in tables)
        return UDP.octets + BTH.octets + sizes + len(self.payload) + self.pad + ICRC_OCTETS

    @property
    def nominal_octets(self) -> int:
        """What the packet counts in congestion windows, in octets."""
        return nominal_octets(self.udp_length)

    def encapsulated(
        self, source: int, carrier: int, *, segments: tuple[int, ...] = (), reduced: bool = False
    ) -> "Packet":
        """Return the packet behind an outer header with its own DSCP and ECN fields.

        Parameters
        ----------
        carrier : :class:`int`
            Where the packet goes first.
        segments : tuple of :class:`int`
            The whole path with ``carrier`` in front, in an SRH; without, there is no SRH.
        reduced : :class:`bool`
            ``carrier`` is left out of the SRH, and so is an SRH with nothing else
            (RFC 8986, section 5.2).
        """
        outer = Outer(
            source=source,
            destination=carrier,
            dscp=self.dscp,
            ecn=self.ecn,
            routing=route(segments, reduced=reduced) if segments else None,
        )
        return replace(self, outer=outer)

    def encode(self, dialect: Dialect = DEFAULT_DIALECT) -> bytes:
        """Return the octets, without frame check sequence.

        Raises
        ------
        ValueError
            If a field does not fit, a header is missing or does not belong to the opcode, or the
            packet is trimmed.
        """
        if self.trimmed:
            raise ValueError("a trimmed packet has lost what it would take to write it")
        octets = self._encode_inner(dialect)
        octets += icrc(octets)
        if self.outer is not None:
            octets = self.outer.encode(octets)
        if self.ethernet is not None:
            octets = self.ethernet.encode(octets)
        return octets

    def _encode_inner(self, dialect: Dialect) -> bytes:
        tables = extensions(self.opcode, self.timestamped)
        if tables is None or {name for name, _ in tables} != set(self.extensions):
            names = ", ".join(self.extensions) or "no header"
            raise ValueError(f"opcode {self.opcode:#x} does not go with {names}")
        if self.payload and self.opcode not in WRITE_OPCODES:
            raise ValueError(f"opcode {self.opcode:#x} carries no payload")
        source_port, flow_label = ev_to_wire(self.ev, swap=dialect.swap_ev)
        if self.ipv4 and flow_label:
            raise ValueError(f"EV {self.ev:#010x} does not fit in IPv4, which has no flow label")
        udp_length = self.udp_length
        ip = IpFields(
            version=4 if self.ipv4 else 6,
            source=self.source,
            destination=self.destination,
            dscp=self.dscp,
            ecn=self.ecn,
            hop_limit=self.hop_limit,
            next_header=NextHeader.UDP,
            payload_length=udp_length,
            flow_label=self.flow_label_high << 16 | flow_label,
            identification=self.identification,
        )
        parts = [
            ip.encode(),
            UDP.pack(
                source_port=source_port,
                destination_port=self.udp_port or dialect.udp_ports[0],
                length=udp_length,
            ),
            BTH.pack(
                opcode=self.opcode,
                solicited=self.solicited,
                migration=self.migration,
                pad=self.pad,
                p_key=dialect.p_key,
                variant_reserved=self.variant_reserved,
                dqp=self.dqp,
                ack_request=self.ack_request,
                reserved=self.reserved,
                retransmission=self.retransmission,
                timestamped=self.timestamped,
                invariant_reserved=self.invariant_reserved,
                psn=self.psn,
            ),
        ]
        parts += (table.pack(**self.extensions[name]) for name, table in tables)
        return b"".join((*parts, self.payload, bytes(self.pad)))

    @classmethod
    def decode(cls, frame: bytes, dialect: Dialect = DEFAULT_DIALECT) -> "Packet":
        """Read a frame, from its Ethernet header on and without frame check sequence.

        Raises
        ------
        PacketError
            If it is not a packet of ours, or does not pass a check.
        """
        if len(frame) < _MIN_FRAME_OCTETS:
            raise PacketError(
                DropReason.RUNT,
                f"a frame has at least {_MIN_FRAME_OCTETS} octets, not {len(frame)}",
            )
        ethernet, version, octets = Ethernet.decode(frame)
        fields, good = parse_packet(octets, dialect, version=version)
        return cls(**fields, ethernet=ethernet)._checked(good)

    @classmethod
    def decode_ip(cls, octets: bytes, dialect: Dialect = DEFAULT_DIALECT) -> "Packet":
        """Read a packet from its outermost IP header on.

        Raises
        ------
        PacketError
            If it is not a packet of ours, or does not pass a check.
        """
        fields, good = parse_packet(octets, dialect)
        return cls(**fields)._checked(good)

    def _checked(self, icrc_good: bool) -> "Packet":
        if not icrc_good:
            raise PacketError(DropReason.ICRC_ERROR, "the ICRC does not match", self)
        return self

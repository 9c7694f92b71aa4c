"""Headers, in plain Python: the one place where a bit position is written."""

__all__ = [
    "AETH",
    "BTH",
    "CC_STATE",
    "EETH",
    "ERTH",
    "ETHERNET",
    "ICRC",
    "IMMDT",
    "IPV6",
    "LINK_ADDRESS",
    "METH",
    "NEIGHBOUR",
    "NETH",
    "PETH",
    "RETH",
    "SETH",
    "SRH",
    "TSETH",
    "UDP",
    "Header",
]


class Header:
    """Protocol header in network byte order.

    Fields are listed as the standard draws them: first on the wire, first in the list. A header
    is then the big-endian number that its octets spell, with its fields from the most
    significant bit down.

    Parameters
    ----------
    **fields : :class:`int`
        Width of each field, in bits, in wire order.

    Attributes
    ----------
    fields : :class:`dict` of :class:`str` to :class:`int`
        The same.
    octets : :class:`int`
        Length of the header, in octets.

    Raises
    ------
    ValueError
        If the fields do not add up to a whole number of octets.
    """

    def __init__(self, **fields: int):
        self.fields = fields
        self.octets, rest = divmod(sum(fields.values()), 8)
        if rest:
            raise ValueError(f"fields take {self.octets} octets and {rest} bits, not whole octets")

    def unpack(self, packet: bytes) -> dict[str, int]:
        """Read the fields of the header at the start of ``packet``."""
        if len(packet) < self.octets:
            raise ValueError(f"header takes {self.octets} octets, packet has {len(packet)}")
        number = int.from_bytes(packet[: self.octets], "big")
        values = {}
        for name, width in reversed(self.fields.items()):
            values[name] = number % 2**width
            number >>= width
        return values

    def pack(self, **values: int) -> bytes:
        """Write the header; fields left out are zero."""
        number = 0
        for name, width in self.fields.items():
            value = values.pop(name, 0)
            if value not in range(2**width):
                raise ValueError(f"{name} must fit in {width} bits, and {value} does not")
            number = number << width | value
        if values:
            raise TypeError(f"header has no field {', '.join(values)}")
        return number.to_bytes(self.octets, "big")


#: Ethernet II header, without tag and frame check sequence (IEEE 802.3).
ETHERNET = Header(destination=48, source=48, ether_type=16)

#: VLAN tag behind its own type (IEEE 802.1Q): tag control information, then the next type.
VLAN = Header(priority=3, drop_eligible=1, vid=12, ether_type=16)

#: IPv4 header without options (RFC 791, section 3.1).
IPV4 = Header(
    version=4,
    header_length=4,  # in units of 4 octets
    dscp=6,
    ecn=2,
    total_length=16,
    identification=16,
    reserved=1,
    do_not_fragment=1,
    more_fragments=1,
    fragment_offset=13,
    time_to_live=8,
    protocol=8,
    checksum=16,
    source=32,
    destination=32,
)

#: IPv6 fixed header (RFC 8200, section 3).
IPV6 = Header(
    version=4,
    dscp=6,
    ecn=2,
    flow_label=20,
    payload_length=16,
    next_header=8,
    hop_limit=8,
    source=128,
    destination=128,
)

#: ICMPv6 neighbour solicitation, type 135, or advertisement, type 136 (RFC 4861, sections 4.3 and
#: 4.4); the three flags are of the advertisement and reserved in the solicitation.
NEIGHBOUR = Header(
    type=8,
    code=8,
    checksum=16,
    router=1,
    solicited=1,
    override=1,
    reserved=29,
    target=128,
)

#: Option that holds a link-layer address: type 1 the sender's, 2 the target's (RFC 4861, 4.6.1).
LINK_ADDRESS = Header(
    type=8,
    length=8,  # in units of 8 octets
    address=48,
)

#: Segment routing header up to its segment list (RFC 8754, section 2).
SRH = Header(
    next_header=8,
    header_length=8,  # in units of 8 octets, the first 8 not counted
    routing_type=8,  # always 4
    segments_left=8,
    last_entry=8,
    flags=8,
    tag=16,
)

#: UDP header (RFC 768).
UDP = Header(source_port=16, destination_port=16, length=16, checksum=16)

#: Base transport header (docs/protocol.md, "BTH").
BTH = Header(
    opcode=8,
    solicited=1,
    migration=1,
    pad=2,
    tver=4,
    p_key=16,
    variant_reserved=8,  # masked in the ICRC
    dqp=24,
    ack_request=1,
    reserved=1,
    retransmission=1,
    timestamped=1,  # a TSETH follows the METH
    invariant_reserved=4,
    psn=24,
)

#: Message numbers, in every write packet.
METH = Header(rqmsn=16, msn=16)

#: Time of sending.
TSETH = Header(tx_timestamp=16, resolution=1, reserved=11, ftype=4)

#: Where the payload belongs, in every write packet; ``dmalen`` is the whole message's.
RETH = Header(va=64, rkey=32, dmalen=32)

#: Immediate data.
IMMDT = Header(immediate=32)

#: Selective acknowledgement, up to its bitmap; CC_STATE follows.
SETH = Header(
    kind=4,  # always 0
    next_header=5,  # always 0
    mark=2,  # 0 none, 1 skip once (forward path was ECN-marked), 2 always skip
    reserved_1=3,
    probe_reply=1,
    reserved_2=1,
    ack_psn_offset=16,  # signed; with ``probe_reply`` this is the probe's id
    entropy=32,
    spdcid=16,
    dpdcid=16,
    reserved_3=8,
    cack_psn=24,
    cc_type=4,  # 0 in a SACK
    cc_flags=4,
    mpr=8,
    sack_offset=16,  # signed: the bitmap's base is cack_psn + sack_offset
    sack_bitmap=64,  # least significant bit: base
)

#: Congestion state of the receiver, behind SETH.
CC_STATE = Header(
    tx_timestamp=16,
    reserved_1=1,
    ooo_count=15,
    restore_cwnd=1,
    rcv_cwnd_pen=7,
    rcvd_bytes=24,  # units of 256 octets
)

#: Negative acknowledgement.
NETH = Header(
    reserved_1=16,
    reason=8,
    vendor_info=8,
    entropy=32,
    spdcid=16,
    dpdcid=16,
    reserved_2=8,
    nack_psn=24,
    cc_type=4,  # 2 in a NACK
    cc_flags=4,
    reserved_3=8,
    tx_timestamp=16,
)

#: Reliability probe.
PETH = Header(
    reserved_1=24,
    vendor_info=8,
    probe_id=16,
    reserved_2=16,
    spdcid=16,
    dpdcid=16,
    tx_timestamp=16,
    resolution=1,
    reserved_3=11,
    ftype=4,
)

#: Endpoint request.
ERTH = Header(
    reserved_1=14,
    operation=2,  # 0 port status, 1 EV probe
    reserved_2=8,
    vendor_info=8,
    port_status_mask=32,
    reserved_3=32,
    tx_timestamp=16,
    resolution=1,
    reserved_4=11,
    ftype=4,
)

#: Endpoint response: as long as SETH with CC_STATE, and the timestamp stands at the same place.
EETH = Header(
    reserved_1=12,
    operation=2,
    reserved_2=2,
    reserved_3=208,
    tx_timestamp=16,
    reserved_4=48,
)

#: Semantic acknowledgement (InfiniBand specification, volume 1, section 9.7.5).
AETH = Header(syndrome=8, msn=24)

#: Invariant CRC, least significant octet first on the wire.
ICRC = Header(crc=32)

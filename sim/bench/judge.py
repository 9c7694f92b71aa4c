"""What a receiving lane is to do with a frame, in plain Python, written from the protocol."""

from dataclasses import dataclass, field
from typing import NamedTuple

from mrcnic.hdl.wire.headers import BTH, IPV4, IPV6, METH, RETH, SRH, TSETH, UDP
from mrcnic.hdl.wire.icrc import icrc

__all__ = ["TO_HOST", "Fate", "LaneRules", "judge"]

#: Octets behind the BTH of packets without payload.
_CONTROL = {0xDC: 36, 0xDD: 20, 0xD1: 4, 0xDE: 16, 0xD8: 16, 0xD9: 36}
_WRITES = range(0xC6, 0xCC)
_TRIMMED, _LAST_HOP = 16, 18
_SHORTEST, _LONGEST = 60, 9216
_TAG_TYPES = (b"\x81\x00", b"\x88\xa8")

#: Events of frames that the host gets.
TO_HOST = frozenset({
    "rx_other_vlan",
    "rx_not_ipv6",
    "rx_not_ours",
    "rx_not_udp",
    "rx_ipv4_options",
    "rx_ipv4_fragment",
    "rx_bad_port",
})


@dataclass(frozen=True, kw_only=True)
class LaneRules:
    """What a lane goes by.

    Attributes
    ----------
    loopback, loopback_ipv4 : :class:`int`
        The NIC's own addresses.
    own : :class:`int`
        Block and uSID of the port: the first 48 bits of a carrier.
    mtu : :class:`int`
        Longest payload.
    udp_ports : :class:`tuple` of :class:`int`
        Destination ports taken.
    tags : :class:`tuple` of :class:`int`
        VLAN identifiers of the port, outer one first.
    """

    loopback: int
    loopback_ipv4: int
    own: int
    mtu: int
    udp_ports: tuple[int, ...] = (4791, 4971)
    tags: tuple[int, ...] = field(default=())


class Fate(NamedTuple):
    """What becomes of a frame.

    Attributes
    ----------
    event : :class:`str`
        Its event.
    payload : :class:`bytes` or ``None``
        Of a write that is taken.
    inner : :class:`bytes`
        The packet itself, from its IP header on, if it is handed on.
    outer_ce, last_hop : :class:`bool`
        Congestion is marked outside; it was cut on the last hop.
    """

    event: str
    payload: bytes | None = None
    inner: bytes = b""
    outer_ce: bool = False
    last_hop: bool = False


class _RefusedError(Exception):
    """Carries the event of a frame that is not handed on."""


def _refuse(*reasons):
    for failed, event in reasons:
        if failed:
            raise _RefusedError(event)


def judge(frame: bytes, rules: LaneRules, *, bad: bool = False, enabled: bool = True) -> Fate:
    """Say what becomes of a frame.

    Parameters
    ----------
    bad : :class:`bool`
        The MAC says that it is bad.
    enabled : :class:`bool`
        The port is enabled.
    """
    try:
        _refuse(
            (not enabled, "rx_port_disabled"),
            (bad, "rx_bad_frame"),
            (len(frame) < _SHORTEST, "rx_runt"),
            (len(frame) > _LONGEST, "rx_oversize"),
        )
        vids, at = [], 12
        while frame[at : at + 2] in _TAG_TYPES and len(vids) < 2:
            vids.append(int.from_bytes(frame[at + 2 : at + 4], "big") & 0xFFF)
            at += 4
        fits = vids == list(rules.tags) or (not rules.tags and vids == [0])
        kind, packet = frame[at : at + 2], frame[at + 2 :]
        _refuse(
            (not fits, "rx_other_vlan"),
            (kind not in (b"\x86\xdd", b"\x08\x00"), "rx_not_ipv6"),
        )
        if kind == b"\x08\x00":
            return _judge_ipv4(packet, rules)
        return _judge_ipv6(packet, rules)
    except _RefusedError as refused:
        return Fate(str(refused))


def _judge_ipv4(packet, rules):
    header = IPV4.unpack(packet)
    is_sum_good = sum(int.from_bytes(packet[n : n + 2], "big") for n in range(0, 20, 2))
    _refuse(
        (header["version"] != 4, "rx_bad_version"),
        (header["destination"] != rules.loopback_ipv4, "rx_not_ours"),
        (header["protocol"] != 17, "rx_not_udp"),
        (header["header_length"] != 5, "rx_ipv4_options"),
        (header["more_fragments"] or header["fragment_offset"], "rx_ipv4_fragment"),
    )
    at = IPV4.octets
    _judge_port(packet, at, rules)
    _refuse((is_sum_good % 0xFFFF, "rx_bad_checksum"))
    claimed = header["total_length"] - at
    return _judge_bth(packet, at, claimed, rules, outermost=header)


def _judge_ipv6(packet, rules):
    outer = IPV6.unpack(packet.ljust(IPV6.octets, b"\0"))
    _refuse((outer["version"] != 6, "rx_bad_version"))
    inner, there = packet, None
    if outer["next_header"] in (41, 43):
        inner = packet[IPV6.octets :]
        there = len(inner)
        _refuse((outer["destination"] >> 80 != rules.own, "rx_not_ours"))
        if outer["next_header"] == 43:
            _refuse((there < SRH.octets, "rx_bad_length"))
            inner = inner[_judge_srh(SRH.unpack(inner)) :]
    _refuse((len(inner) < IPV6.octets, "rx_bad_length"))
    header = IPV6.unpack(inner)
    _refuse(
        (header["version"] != 6, "rx_bad_version"),
        (header["destination"] != rules.loopback, "rx_not_ours"),
        (header["next_header"] != 17, "rx_not_udp"),
    )
    at = IPV6.octets
    _judge_port(inner, at, rules)
    if there is not None:
        _refuse((outer["ecn"] == 3 and not header["ecn"], "rx_bad_ecn"))
        _judge_length(there, outer["payload_length"], outer)
    return _judge_bth(inner, at, header["payload_length"], rules, outermost=outer)


def _judge_srh(srh):
    """Return how many octets a routing header takes."""
    entries = srh["last_entry"] + 1
    if srh["routing_type"] == 4:
        _refuse(
            (2 * entries > srh["header_length"], "rx_bad_srh"),
            (srh["segments_left"] > entries, "rx_bad_srh"),
            (srh["segments_left"] or entries > 8, "rx_srh_unsupported"),
        )
    _refuse(
        (srh["segments_left"], "rx_bad_srh"),
        (srh["header_length"] > 24, "rx_srh_unsupported"),
        (srh["next_header"] != 41, "rx_bad_next_header"),
    )
    return 8 * (srh["header_length"] + 1)


def _judge_port(inner, at, rules):
    _refuse((len(inner) < at + UDP.octets, "rx_bad_length"))
    port = UDP.unpack(inner[at:])["destination_port"]
    _refuse(
        (port not in rules.udp_ports, "rx_bad_port"),
        (len(inner) < at + UDP.octets + BTH.octets, "rx_bad_length"),
    )


def _judge_length(there, claimed, outermost):
    is_trimmed = outermost["dscp"] in (_TRIMMED, _LAST_HOP)
    _refuse((there > claimed or (there < claimed and not is_trimmed), "rx_bad_length"))


def _judge_bth(inner, at, claimed, rules, *, outermost):
    there = len(inner) - at
    is_trimmed = outermost["dscp"] in (_TRIMMED, _LAST_HOP)
    _judge_length(there, claimed, outermost)
    if not is_trimmed:
        _refuse((UDP.unpack(inner[at:])["length"] != there, "rx_bad_length"))
    bth = BTH.unpack(inner[at + UDP.octets :])
    opcode = bth["opcode"]
    extension = _CONTROL.get(opcode)
    stamp = TSETH.octets * bth["timestamped"]
    if opcode in _WRITES:
        extension = METH.octets + stamp + RETH.octets + 4 * (opcode in (0xC9, 0xCB))
    _refuse(
        (bth["tver"], "rx_bad_tver"),
        (bth["p_key"] != 0xFFFF, "rx_bad_pkey"),
        (extension is None or (is_trimmed and opcode not in _WRITES), "rx_bad_opcode"),
        (opcode in (0xD8, 0xD9) and bth["dqp"] != 2, "rx_bad_endpoint_qp"),
    )
    start = UDP.octets + BTH.octets
    shared = {
        "inner": inner,
        "outer_ce": outermost["ecn"] == 3,
        "last_hop": outermost["dscp"] == _LAST_HOP,
    }
    if is_trimmed:
        _refuse((there < start + METH.octets + stamp, "rx_bad_length"))
        return Fate("rx_trimmed", **shared)
    rest = there - start - extension - 4
    pad = bth["pad"]
    _refuse(
        (rest < 0 or (opcode in _CONTROL and rest), "rx_bad_length"),
        (rest % 4 or pad > rest, "rx_bad_pad"),
        (rest - pad > rules.mtu, "rx_oversize"),
        (icrc(inner[:-4]) != inner[-4:], "rx_icrc_error"),
    )
    payload = inner[at + start + extension : len(inner) - 4 - pad]
    return Fate("rx_packets", payload if opcode in _WRITES else None, **shared)

"""What a lane is to do with a frame, in plain Python, written from the protocol."""

from received import BLOCK, IPV4_B, USID, B

from mrcnic.hdl.wire.headers import BTH, ERTH, IPV6, METH, RETH, SRH, TSETH, UDP
from mrcnic.hdl.wire.icrc import icrc

#: Octets behind the BTH of packets without payload.
CONTROL = {0xDC: 36, 0xDD: 20, 0xD1: 4, 0xDE: 16, 0xD8: ERTH.octets, 0xD9: 36}
WRITES = range(0xC6, 0xCC)
LONGEST = 9216

#: Fates of frames that the host gets.
TO_HOST = {
    "rx_other_vlan",
    "rx_not_ipv6",
    "rx_not_ours",
    "rx_not_udp",
    "rx_ipv4_options",
    "rx_ipv4_fragment",
    "rx_bad_port",
}


def judge(frame, bad=0, *, mtu, enabled=1, loopback=B, tags=()):
    """Return the event of a frame, and the payload of a write that is taken."""
    early = (
        (not enabled, "rx_port_disabled"),
        (bad, "rx_bad_frame"),
        (len(frame) < 60, "rx_runt"),
        (len(frame) > LONGEST, "rx_oversize"),
    )
    for failed, event in early:
        if failed:
            return event, None

    vids, at = [], 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8") and len(vids) < 2:
        vids.append(int.from_bytes(frame[at + 2 : at + 4], "big") & 0xFFF)
        at += 4
    if vids != list(tags) and (tags or vids != [0]):
        return "rx_other_vlan", None
    packet = frame[at + 2 :]
    if frame[at : at + 2] == b"\x08\x00":
        return judge_ipv4(packet, mtu=mtu)
    if frame[at : at + 2] != b"\x86\xdd":
        return "rx_not_ipv6", None
    if packet[0] >> 4 != 6:
        return "rx_bad_version", None
    return judge_ipv6(packet, mtu=mtu, loopback=loopback)


def judge_ipv4(packet, *, mtu):
    """Return what :func:`judge` does, of an IPv4 packet."""
    if packet[0] >> 4 != 4:
        return "rx_bad_version", None
    words = [int.from_bytes(packet[n : n + 2], "big") for n in range(0, 20, 2)]
    for failed, event in (
        (int.from_bytes(packet[16:20], "big") != IPV4_B, "rx_not_ours"),
        (packet[9] != 17, "rx_not_udp"),
        (packet[0] & 15 != 5, "rx_ipv4_options"),
        (words[3] & 0x3FFF, "rx_ipv4_fragment"),
    ):
        if failed:
            return event, None
    event = None if sum(words) % 0xFFFF == 0 else "rx_bad_checksum"
    trimmed = packet[1] >> 2 in (16, 18)
    return judge_udp(packet, 20, words[1] - 20, mtu=mtu, trimmed=trimmed, late_event=event)


def judge_ipv6(packet, *, mtu, loopback):
    """Return what :func:`judge` does, of an IPv6 packet with or without an outer header."""
    padded = packet.ljust(64, b"\0")
    outer = IPV6.unpack(padded)
    trimmed = outer["dscp"] in (16, 18)
    inner, lies, late_event = packet, False, None
    if outer["next_header"] in (41, 43):
        inner = packet[40:]
        there = len(packet) - 40
        lies = there > outer["payload_length"] if trimmed else there != outer["payload_length"]
        if outer["destination"] >> 80 != BLOCK << 16 | USID:
            return "rx_not_ours", None
        if outer["next_header"] == 43:
            srh = SRH.unpack(padded[40:])
            if (event := judge_srh(srh)) is not None:
                return event, None
            inner = inner[8 * (srh["header_length"] + 1) :]
    if len(inner) < 40:
        return "rx_bad_length", None
    ipv6 = IPV6.unpack(inner)
    for failed, event in (
        (ipv6["version"] != 6, "rx_bad_version"),
        (ipv6["destination"] != loopback, "rx_not_ours"),
        (ipv6["next_header"] != 17, "rx_not_udp"),
    ):
        if failed:
            return event, None
    if inner is not packet and outer["ecn"] == 3 and not ipv6["ecn"]:
        late_event = "rx_bad_ecn"
    claimed = ipv6["payload_length"]
    return judge_udp(inner, 40, claimed, mtu=mtu, trimmed=trimmed, lies=lies, late_event=late_event)


def judge_srh(srh):
    """Return the event of a routing header that is not skipped."""
    if srh["routing_type"] == 4:
        if 2 * (srh["last_entry"] + 1) > srh["header_length"]:
            return "rx_bad_srh"
        if srh["segments_left"] > srh["last_entry"] + 1:
            return "rx_bad_srh"
        if srh["segments_left"] or srh["last_entry"] >= 8:
            return "rx_srh_unsupported"
    elif srh["segments_left"]:
        return "rx_bad_srh"
    if srh["header_length"] > 24:
        return "rx_srh_unsupported"
    return None if srh["next_header"] == 41 else "rx_bad_next_header"


def judge_udp(inner, at, claimed, *, mtu, trimmed, lies=False, late_event=None):
    """Return what :func:`judge` does, of an inner packet whose UDP header is at ``at``."""
    there = len(inner) - at
    if there < 8:
        return "rx_bad_length", None
    udp = UDP.unpack(inner[at:])
    if udp["destination_port"] not in (4791, 4971):
        return "rx_bad_port", None
    if there < 20:
        return "rx_bad_length", None
    if late_event:
        return late_event, None
    exact = there <= claimed if trimmed else there == claimed == udp["length"]
    if lies or not exact:
        return "rx_bad_length", None
    bth = BTH.unpack(inner[at + 8 :])
    opcode = bth["opcode"]
    extension = CONTROL.get(opcode)
    if opcode in WRITES:
        extension = METH.octets + RETH.octets + 4 * (opcode in (0xC9, 0xCB))
        extension += TSETH.octets * bth["timestamped"]
    for failed, event in (
        (bth["tver"], "rx_bad_tver"),
        (bth["p_key"] != 0xFFFF, "rx_bad_pkey"),
        (extension is None or (trimmed and opcode not in WRITES), "rx_bad_opcode"),
        (opcode in (0xD8, 0xD9) and bth["dqp"] != 2, "rx_bad_endpoint_qp"),
    ):
        if failed:
            return event, None
    if trimmed:
        kept = METH.octets + TSETH.octets * bth["timestamped"]
        return ("rx_bad_length" if there < 20 + kept else "rx_trimmed"), None
    rest = there - 20 - extension - 4
    if rest < 0 or (opcode in CONTROL and rest):
        return "rx_bad_length", None
    if rest % 4 or bth["pad"] > rest:
        return "rx_bad_pad", None
    if rest - bth["pad"] > mtu:
        return "rx_oversize", None
    if icrc(inner[:-4]) != inner[-4:]:
        return "rx_icrc_error", None
    payload = inner[at + 20 + extension : len(inner) - 4 - bth["pad"]]
    return "rx_packets", payload if opcode in WRITES else None

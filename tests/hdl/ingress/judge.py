"""What a lane is to do with a frame, in plain Python, written from the protocol."""

from received import BLOCK, USID, B

from mrcnic.hdl.wire.headers import BTH, IPV6, METH, RETH, SRH, TSETH, UDP
from mrcnic.hdl.wire.icrc import icrc

#: Octets behind the BTH of packets without payload.
CONTROL = {0xDC: 36, 0xDD: 20, 0xD1: 4, 0xDE: 16, 0xD8: 16, 0xD9: 36}
WRITES = range(0xC6, 0xCC)
LONGEST = 14 + 40 + 200 + 40 + 8 + 12 + 28 + 4


def judge(frame, bad=0, *, mtu, enabled=1, loopback=B):
    """Return the event of a frame, and the payload of a write that is taken."""
    early = (
        (not enabled, "rx_port_disabled"),
        (bad, "rx_bad_frame"),
        (len(frame) < 60, "rx_runt"),
        (len(frame) > LONGEST + mtu, "rx_oversize"),
        (frame[12:14] != b"\x86\xdd", "rx_not_ipv6"),
        (frame[14:15] and frame[14] >> 4 != 6, "rx_bad_version"),
    )
    for failed, event in early:
        if failed:
            return event, None

    outer = IPV6.unpack(frame[14:])
    inner = frame[14:]
    if outer["next_header"] in (41, 43):
        inner = frame[54:]
        if outer["destination"] >> 80 != BLOCK << 16 | USID:
            return "rx_not_ours", None
        if outer["next_header"] == 43:
            srh = SRH.unpack(inner)
            if (event := judge_srh(srh)) is not None:
                return event, None
            inner = inner[8 * (srh["header_length"] + 1) :]
        outer_length_good = outer["payload_length"] == len(frame) - 54
    else:
        outer_length_good = True
    trimmed = outer["dscp"] in (16, 18)
    return judge_inner(inner, mtu=mtu, trimmed=trimmed, fits=outer_length_good, loopback=loopback)


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


def judge_inner(inner, *, mtu, trimmed, fits, loopback):
    """Return what :func:`judge` does, of an inner packet."""
    if len(inner) < 40:
        return "rx_bad_length", None
    ipv6 = IPV6.unpack(inner)
    if ipv6["version"] != 6:
        return "rx_bad_version", None
    if ipv6["destination"] != loopback:
        return "rx_not_ours", None
    if ipv6["next_header"] != 17:
        return "rx_bad_next_header", None
    if len(inner) < 60:
        return "rx_bad_length", None
    udp, bth = UDP.unpack(inner[40:]), BTH.unpack(inner[48:])
    if udp["destination_port"] not in (4791, 4971):
        return "rx_bad_port", None
    if trimmed:
        return "rx_trimmed", None
    if not (fits and len(inner) - 40 == ipv6["payload_length"] == udp["length"]):
        return "rx_bad_length", None
    if bth["tver"]:
        return "rx_bad_tver", None
    if bth["p_key"] != 0xFFFF:
        return "rx_bad_pkey", None
    opcode = bth["opcode"]
    extension = CONTROL.get(opcode)
    if opcode in WRITES:
        extension = METH.octets + RETH.octets + 4 * (opcode in (0xC9, 0xCB))
        extension += TSETH.octets * bth["timestamped"]
    if extension is None:
        return "rx_bad_opcode", None
    rest = len(inner) - 60 - extension - 4
    if rest < 0 or (opcode in CONTROL and rest):
        return "rx_bad_length", None
    if rest % 4 or bth["pad"] > rest:
        return "rx_bad_pad", None
    if rest - bth["pad"] > mtu:
        return "rx_oversize", None
    if icrc(inner[:-4]) != inner[-4:]:
        return "rx_icrc_error", None
    if opcode in (0xD8, 0xD9):
        return "rx_unsupported", None
    payload = inner[60 + extension : len(inner) - 4 - bth["pad"]]
    return "rx_packets", payload if opcode in WRITES else None

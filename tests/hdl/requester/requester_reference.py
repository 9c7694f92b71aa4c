"""What a requester must send, worked out one request at a time, without gateware."""

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.psn import psn_add

__all__ = ["segment"]


def segment(requests, *, tx_psn, pmtu):
    """Return the packets of one QP's requests: dicts of what their headers say."""
    packets = []
    rqmsn = 0
    msn = 0
    for request in requests:
        octets = request["octets"]
        if octets == 0:
            continue
        starts = range(0, octets, pmtu)
        for start in starts:
            first, last = start == 0, start == starts[-1]
            immediate = request["with_immediate"]
            name = {
                (True, True): "ONLY",
                (True, False): "FIRST",
                (False, False): "MIDDLE",
                (False, True): "LAST",
            }[first, last]
            if last and immediate:
                name += "_IMM"
            packets.append({
                "opcode": Opcode[f"WRITE_{name}"],
                "psn": psn_add(tx_psn, len(packets)),
                "msn": msn % 2**16,
                "rqmsn": rqmsn % 2**16 if immediate else 0,
                "va": request["remote_address"] + start,
                "local": request["local_address"] + start,
                "dmalen": octets,
                "octets": min(pmtu, octets - start),
                "last": last,
                "immediate": request["immediate"] if last and immediate else None,
            })
        msn += 1
        rqmsn += request["with_immediate"]
    return packets

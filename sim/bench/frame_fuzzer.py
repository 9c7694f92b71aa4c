"""Frames with something wrong, and good ones between them."""

import random
from dataclasses import dataclass

from mrcnic.hdl.wire.headers import BTH, ERTH, ETHERNET, IPV4, IPV6, METH, RETH, SETH, TSETH, UDP
from mrcnic.hdl.wire.icrc import icrc

from .judge import LaneRules

__all__ = ["FuzzFrame", "fuzz_frames", "fuzz_rules", "writes_of_every_length"]

_LOOPBACK = 0x20010DB8000B0000_0000000000000001
_PEER = 0x20010DB8000A0000_0000000000000001
_LOOPBACK_IPV4, _PEER_IPV4 = 0xC0000202, 0xC0000201
_OWN = 0x5F0000012C05

#: Numbers that lengths, types and counts are replaced by.
_ODD = (0, 1, 2, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x86DD, 0x8100, 0x88A8, 0x0800, 12, 20, 60)

#: Mutated frames in a row, at most, before a good one.
_RUN = 3

#: One frame in so many is long.
_LONG = 400


@dataclass(frozen=True)
class FuzzFrame:
    """A frame, and whether it is as it should be, and what the MAC says of it."""

    octets: bytes
    good: bool
    bad: bool = False


def fuzz_rules(*, mtu: int, tags: tuple[int, ...]) -> LaneRules:
    """Return what the lane goes by that the frames are made for."""
    return LaneRules(loopback=_LOOPBACK, loopback_ipv4=_LOOPBACK_IPV4, own=_OWN, mtu=mtu, tags=tags)


def fuzz_frames(rng: random.Random, mutated: int, rules: LaneRules):
    """Yield ``mutated`` mutated frames, and a good one after each few of them.

    Most mutated frames are good ones with up to three changes: a bit, an octet, a number put in
    another's place, octets cut off, put in or taken out, the end of another frame. Some get an
    ICRC that is right nonetheless.
    """
    stock = _stock(rng, rules)
    left = 0
    for _ in range(mutated):
        if not left:
            yield FuzzFrame(rng.choice(stock), good=True)
            left = rng.randint(1, _RUN)
        left -= 1
        if not rng.randrange(_LONG):
            octets = _changed(rng, rng.choice(stock), stock) + rng.randbytes(rng.randint(64, 9300))
        else:
            octets = rng.choice(stock)
            for _ in range(rng.randint(1, 3)):
                octets = _changed(rng, octets, stock)
            if not rng.randrange(3):
                octets = _signed(octets)
        yield FuzzFrame(octets, good=False, bad=not rng.randrange(50))
    yield FuzzFrame(rng.choice(stock), good=True)


def writes_of_every_length(rules: LaneRules):
    """Yield good writes with as many octets of payload as fit in four beats, plain and not."""
    rng = random.Random(0)
    for size in range(257):
        inner = _inner(0xCA, _write(rng, size), ipv4=False, pad=-size % 4)
        yield FuzzFrame(_frame(_outer(inner) if size % 2 else inner, rules), good=True)


def _changed(rng, octets, stock):
    kind = rng.randrange(9)
    size = len(octets)
    place = rng.randrange(min(size, rng.choice((24, 64, 140, size))))
    if kind <= 1:  # a bit
        return _put(octets, place, bytes([octets[place] ^ 1 << rng.randrange(8)]))
    if kind == 2:
        return _put(octets, place, rng.randbytes(1))
    if kind <= 4:
        return _put(octets, place & ~1, rng.choice(_ODD).to_bytes(2, "big"))
    if kind == 5:
        return octets[: rng.randint(1, size)]
    if kind == 6:
        return octets + rng.randbytes(rng.randint(1, 70))
    if kind == 7:
        step = rng.choice((1, 4, 8, 24, 40))
        cut = octets[:place] + octets[place + step :]
        return rng.choice((cut or octets, octets[:place] + rng.randbytes(step) + octets[place:]))
    other = rng.choice(stock)
    return octets[:place] + (other[place:] or other)


def _put(octets, place, new):
    return octets[:place] + new + octets[place + len(new) :]


def _signed(octets):
    """Make the ICRC right, as far as there is a packet to take it of."""
    at = 12
    while octets[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    at += 2
    if (
        octets[at : at + 1]
        and octets[at] >> 4 == 6
        and octets[at + 6 : at + 7] in (b"\x29", b"\x2b")
    ):
        routed = octets[at + 6] == 43
        at += IPV6.octets
        if routed and at + 1 < len(octets):
            at += 8 * (octets[at + 1] + 1)
    inner = octets[at:-4]
    if len(inner) < IPV6.octets + UDP.octets + BTH.octets:
        return octets
    return octets[:at] + inner + icrc(inner)


def _stock(rng, rules):
    """Return frames of every kind, all of them good."""
    frames = []
    for opcode, extension, fields in _packets(rng):
        for ipv4 in (False, True):
            inner = _inner(opcode, extension, ipv4=ipv4, **fields)
            frames.append(_frame(inner, rules, ether_type=0x0800 if ipv4 else 0x86DD))
            if not ipv4:
                segments = rng.randint(1, 8)
                srh = bytes([41, 2 * segments, 4, 0, segments - 1, 0, 0, 0])
                frames.append(_frame(_outer(inner), rules))
                frames.append(_frame(_outer(inner, srh + rng.randbytes(16 * segments)), rules))
    # What a switch leaves of a write; and what is for the host.
    write = _inner(0xCA, _write(rng, 200), ipv4=False)
    for dscp in (16, 18):
        frames.append(_frame(_outer(write, dscp=dscp)[: 40 + 72], rules))
        frames.append(_frame(_outer(write, dscp=dscp)[: 40 + rng.randint(72, 200)], rules))
    frames.append(_frame(rng.randbytes(46), rules, ether_type=0x0806))
    frames.append(_frame(_inner(0xCA, rng.randbytes(90), ipv4=False, destination=_PEER), rules))
    other = _inner(0xCA, rng.randbytes(9), ipv4=True, destination_port=53)
    frames.append(_frame(other, rules, ether_type=0x0800))
    return frames


def _packets(rng):
    for size in (0, 1, 13, 64, 130, 400):
        yield rng.choice((0xC6, 0xC7, 0xC8, 0xCA)), _write(rng, size), {"pad": -size % 4}
    yield 0xCB, _write(rng, 40, immediate=4), {}
    yield 0xDC, rng.randbytes(SETH.octets + 8), {}
    yield 0xDD, rng.randbytes(20), {}
    yield 0xDE, rng.randbytes(16), {"timestamped": 0}
    yield 0xD1, rng.randbytes(4), {}
    yield 0xD1, rng.randbytes(4), {"ecn": 0}
    yield 0xD8, rng.randbytes(ERTH.octets), {"dqp": 2}
    yield 0xD9, rng.randbytes(36), {"dqp": 2}


def _write(rng, size, immediate=0):
    headers = rng.randbytes(METH.octets + TSETH.octets + RETH.octets + immediate)
    return headers + rng.randbytes(size) + bytes(-size % 4)


def _inner(opcode, rest, *, ipv4, **fields):
    length = UDP.octets + BTH.octets + len(rest) + 4
    values = {
        "source_port": 0xC005,
        "destination_port": 4791,
        "length": length,
        "opcode": opcode,
        "p_key": 0xFFFF,
        "dqp": 0x12,
        "psn": 0x105,
        "timestamped": int(opcode < 0xD0),
        "dscp": 8,
        "ecn": 2,
    }
    if ipv4:
        values |= {"version": 4, "header_length": 5, "total_length": IPV4.octets + length}
        values |= {"time_to_live": 64, "protocol": 17}
        values |= {"source": _PEER_IPV4, "destination": _LOOPBACK_IPV4}
    else:
        values |= {"version": 6, "flow_label": 0x2010, "payload_length": length}
        values |= {"next_header": 17, "hop_limit": 64, "source": _PEER, "destination": _LOOPBACK}
    values |= fields

    def packed(header):
        return header.pack(**{name: values[name] for name in header.fields if name in values})

    if ipv4:
        values["checksum"] = 0xFFFF - int.from_bytes(packed(IPV4), "big") % 0xFFFF
    ip = packed(IPV4 if ipv4 else IPV6)
    values["checksum"] = 0
    packet = ip + packed(UDP) + packed(BTH) + rest
    return packet + icrc(packet)


def _outer(inner, routing=b"", dscp=8):
    header = IPV6.pack(
        version=6,
        dscp=dscp,
        ecn=inner[1] >> 4 & 3,
        payload_length=len(routing) + len(inner),
        next_header=43 if routing else 41,
        hop_limit=60,
        source=_PEER,
        destination=_OWN << 80,
    )
    return header + routing + inner


def _frame(packet, rules, ether_type=0x86DD):
    kinds = (0x88A8, 0x8100)[-len(rules.tags) :] if rules.tags else ()
    tags = b"".join(
        kind.to_bytes(2, "big") + (vid | 0xA000).to_bytes(2, "big")
        for kind, vid in zip(kinds, rules.tags, strict=True)
    )
    addresses = ETHERNET.pack(destination=0x020000000001, source=0x020000000002)[:12]
    return addresses + tags + ether_type.to_bytes(2, "big") + packet

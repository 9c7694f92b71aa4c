# amaranth: UnusedElaboratable=no
"""Good solicitations are answered as scapy would, all else passes, and nobody starves."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from line_bench import frame, idle, line_beats
from scapy.layers.inet6 import ICMPv6NDOptSrcLLAddr, ICMPv6NDOptUnknown
from solicitations import (
    LINK_LOCAL,
    OWN_MAC,
    PEER,
    PEER_MAC,
    UNDERLAY,
    advertisement,
    duplicate_address_detection,
    number,
    solicitation,
)

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.line.neighbour_filter import NeighbourFilter
from mrcnic.hdl.line.neighbour_responder import NEIGHBOUR_EVENTS, NeighbourResponder
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats
from mrcnic.sim.bench.streams import drive, simulate

NONCE = ICMPv6NDOptUnknown(type=14, len=1, data=b"nonces")
LONG = ICMPv6NDOptUnknown(type=14, len=2, data=b"fourteen octet")
OWN = ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC)
ECHO = solicitation(icmp={"type": 128})


class Edge:
    """A responder for a port, with a lane, a host and an egress lane around it."""

    def __init__(self, octets=64, *, enabled=1):
        config = NicConfig(lanes=2, beat_octets=octets)
        self.dut = NeighbourResponder(config)
        self.octets = octets
        self.enabled = enabled
        self.passed, self.sent = [], []
        self.events = dict.fromkeys(NEIGHBOUR_EVENTS, 0)
        self.cycles = {"passed": [], "sent": []}

    def run(self, frames, *, host=(), cycles=400, pause=lambda: 0, o_ready=lambda: 1, wait=0):
        dut = self.dut

        async def lane(ctx):
            ctx.set(dut.settings.neighbour_replies, self.enabled)
            for name, value in (
                ("own_mac", OWN_MAC),
                ("underlay", UNDERLAY),
                ("link_local", LINK_LOCAL),
            ):
                ctx.set(dut.settings.port[name], number(value))
            for packet in frames:
                for beat in line_beats(self.octets, packet):
                    await idle(ctx, "sync", pause())
                    ctx.set(dut.i.payload.as_value(), beat)
                    ctx.set(dut.i.valid, 1)
                    await ctx.tick().until(dut.i.ready)
                    ctx.set(dut.i.valid, 0)
                await idle(ctx, "sync", wait)

        async def from_host(ctx):
            beats = [beat for packet in host for beat in line_beats(self.octets, packet)]
            beats = [Beat(self.octets).from_bits(beat) for beat in beats]
            await drive(ctx, dut.host_i, beats, pauses=[pause() for _ in beats])

        async def sinks(ctx):
            streams = (("passed", dut.o), ("sent", dut.host_o))
            for cycle in range(cycles):
                taken = []
                for _, port in streams:
                    taken.append(o_ready())
                    ctx.set(port.ready, taken[-1])
                trigger = ctx.tick().sample(dut.events)
                for _, port in streams:
                    trigger = trigger.sample(port.valid, port.payload)
                _, _, events, *seen = await trigger
                for n, (name, _) in enumerate(streams):
                    if taken[n] and seen[2 * n]:
                        getattr(self, name).append(seen[2 * n + 1])
                        self.cycles[name].append(cycle)
                for name in NEIGHBOUR_EVENTS:
                    self.events[name] += events[name]

        simulate(dut, lane, from_host, sinks, max_cycles=cycles + 10)
        self.passed = from_beats(self.passed)
        self.sent = from_beats(self.sent)
        return self


@pytest.mark.parametrize("octets", [4, 256])
def test_filter_octets_are_checked(octets):
    with pytest.raises(ValueError, match=f"power of two from 8 to 128, not {octets}"):
        NeighbourFilter(octets=octets)


@pytest.mark.parametrize("octets", [8, 32, 64, 128])
def test_solicitation_is_answered(octets):
    """Each is followed by another frame, which must stay in its place."""
    kinds = [(target, tags) for target in (UNDERLAY, LINK_LOCAL) for tags in (0, 1, 2)]
    frames = [frame(100)]
    for size, (target, tags) in enumerate(kinds, 60):
        frames += [solicitation(target, tags=tags), frame(size, size)]
    edge = Edge(octets).run(frames, wait=60, cycles=1200)
    assert edge.passed == frames[::2]
    assert edge.sent == [advertisement(target, tags=tags) for target, tags in kinds]
    assert edge.events == {"solicitation_answered": 6, "solicitation_not_looked_at": 0}


def test_duplicate_address_detection_is_answered_to_all_nodes():
    kinds = [(tags, options) for tags in (0, 1, 2) for options in ((), (NONCE,))]
    frames = [
        duplicate_address_detection(LINK_LOCAL, tags=tags, options=options)
        for tags, options in kinds
    ]
    edge = Edge().run(frames, wait=120, cycles=1200)
    all_nodes = {"to": "ff02::1", "mac": "33:33:00:00:00:01", "solicited": 0}
    assert edge.passed == []
    assert edge.sent == [advertisement(LINK_LOCAL, tags=tags, **all_nodes) for tags, _ in kinds]


GOOD = {
    "multicast": {},
    "no-option": {"options": ()},
    "nonce": {"options": (OWN, NONCE)},
    "nonce-first": {"options": (NONCE, OWN)},
    "long-option": {"options": (LONG,)},
    "unicast": {"ether": {"dst": OWN_MAC}, "ipv6": {"dst": UNDERLAY}},
    "flow-and-class": {"ipv6": {"fl": 0xBEEF, "tc": 0xC0}},
    "reserved-is-ignored": {"icmp": {"res": 0xFFFFFFFF}},
    "another-sender": {"ipv6": {"src": "2001:db8::ffff"}, "options": ()},
}

BAD = {
    "hop-limit": {"ipv6": {"hlim": 254}},
    "version": {"ipv6": {"version": 5}},
    "code": {"icmp": {"code": 1}},
    "checksum": {"icmp": {"cksum": 0x1234}},
    "checksum-zero": {"icmp": {"cksum": 0}},
    "payload-length-short": {"ipv6": {"plen": 24}},
    "payload-length-long": {"ipv6": {"plen": 40}},
    "target-not-ours": {"icmp": {"tgt": "2001:db8:1:2::c06"}},
    "target-multicast": {"icmp": {"tgt": "ff02::1"}},
    "target-unspecified": {"icmp": {"tgt": "::"}},
    "to-all-nodes": {"ipv6": {"dst": "ff02::1"}, "ether": {"dst": "33:33:00:00:00:01"}},
    "to-another-node": {"ipv6": {"dst": "ff02::1:ff00:c06"}},
    "frame-to-another": {"ether": {"dst": "02:00:00:00:1f:0b"}},
    "frame-from-a-group": {"ether": {"src": "03:00:00:00:00:77"}},
    "from-a-group": {"ipv6": {"src": "ff02::77"}},
    "option-of-no-length": {"options": (ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC, len=0),)},
    "option-beyond-the-end": {"options": (ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC, len=2),)},
    "second-option-of-no-length": {
        "options": (OWN, ICMPv6NDOptUnknown(type=14, len=0, data=b"nonces"))
    },
    "address-of-another": {"options": (ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:78"),)},
    "address-of-another-second": {
        "options": (NONCE, ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:78"))
    },
    "long-address": {"options": (ICMPv6NDOptUnknown(type=1, len=2, data=b"fourteen octet"),)},
    "three-options": {"options": (OWN, NONCE, NONCE)},
    "octets-behind": {"extra": b"\0" * 8},
    "octet-behind": {"extra": b"\0"},
    "another-message": {"icmp": {"type": 136}},
    "another-protocol": {"ipv6": {"nh": 17}},
    "another-ether-type": {"ether": {"type": 0x86DE}},
}


def test_valid():
    edge = Edge().run([solicitation(**case) for case in GOOD.values()], wait=120, cycles=1800)
    to = [case.get("ipv6", {}).get("src", PEER) for case in GOOD.values()]
    assert (edge.passed, edge.sent) == ([], [advertisement(to=address) for address in to])


@pytest.mark.parametrize("octets", [64])
def test_not_valid(octets):
    """All of them pass, and a good one behind each is answered."""
    frames = [solicitation(**case) for case in BAD.values()]
    assert len(set(frames)) == len(frames)
    both = [packet for bad in frames for packet in (bad, solicitation())]
    edge = Edge(octets).run(both, wait=60, cycles=6500)
    assert edge.passed == frames
    assert edge.sent == [advertisement()] * len(frames)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": (OWN,)},
        {"ipv6": {"src": "::", "dst": UNDERLAY}, "ether": {"dst": OWN_MAC}},
    ],
)
def test_duplicate_address_detection_has_rules_of_its_own(changes):
    """No address may be given by one that has none, and only the multicast address be asked."""
    packet = duplicate_address_detection(**changes)
    edge = Edge().run([packet])
    assert (edge.passed, edge.sent) == ([packet], [])


def test_every_bit_of_the_checksum_counts():
    packets = [bytearray(solicitation()) for _ in range(16)]
    for bit, packet in enumerate(packets):
        packet[56 + bit // 8] ^= 1 << bit % 8
    edge = Edge().run(packets, cycles=16 * 60)
    assert (edge.passed, edge.sent) == (packets, [])


def test_switched_off():
    edge = Edge(enabled=0).run([solicitation(), duplicate_address_detection()])
    assert (edge.passed, edge.sent) == ([solicitation(), duplicate_address_detection()], [])
    assert not any(edge.events.values())


def test_one_that_comes_before_the_last_reply_has_left_passes():
    edge = Edge().run([solicitation(), solicitation(LINK_LOCAL)])
    assert (edge.passed, edge.sent) == ([solicitation(LINK_LOCAL)], [advertisement()])
    assert edge.events == {"solicitation_answered": 1, "solicitation_not_looked_at": 1}


def test_cycles():
    """The verdict, the reply, and what a filter costs other frames."""
    edge = Edge().run([solicitation(), frame(60)])
    # The last beat is offered at edge 1 and taken at 47. The next frame follows at 48, and three
    # cycles of FIFO. The reply is made in 1 + 44 + 44 cycles, and takes one to be merged.
    assert edge.cycles == {"passed": [48 + 3], "sent": [1 + 90, 1 + 91]}
    many = Edge().run([frame(60, n) for n in range(100)])
    assert many.cycles["passed"] == list(range(3, 103))
    long = Edge().run([frame(1518, n) for n in range(4)])
    assert long.cycles["passed"] == list(range(3, 3 + 4 * 24))


def test_neither_the_host_nor_replies_starve():
    """The host sends without a pause, and solicitations come whenever they are looked at."""
    host = [frame(600, n) for n in range(60)]
    edge = Edge().run([solicitation()] * 5, host=host, wait=60, cycles=900)
    assert edge.sent.count(advertisement()) == 5 - len(edge.passed) >= 3
    assert [packet for packet in edge.sent if packet != advertisement()] == host
    places = [n for n, packet in enumerate(edge.sent) if packet == advertisement()]
    assert all(after - before > 1 for before, after in pairwise(places))
    # Replies take the time between frames, and nothing else is lost.
    assert edge.cycles["sent"] == list(range(1, 1 + 60 * 10 + 2 * len(places)))


@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_any_frames(data):
    """Whatever passes is untouched and in order, with any pauses and any beats."""
    octets = data.draw(st.sampled_from([8, 32, 64, 128]))
    kinds = [solicitation(), solicitation(tags=2), ECHO, BAD["code"], BAD["octet-behind"]]
    kinds = [solicitation(**kind) if isinstance(kind, dict) else kind for kind in kinds]
    sizes = [14, 54, 60, 62, 63, 64, 65, 78, 86, 101, 102, 103, 104, 105, 127, 128, 129, 300]
    kinds += [frame(size, size) for size in sizes]
    # Those look like one as long as they are.
    kinds += [(solicitation(tags=tags) + bytes(300))[:size] for tags in range(3) for size in sizes]
    frames = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=6))
    rng = random.Random(data.draw(st.integers(0, 999)))
    pause, ready = data.draw(st.sampled_from([0, 1, 3])), data.draw(st.sampled_from([1.0, 0.5]))
    edge = Edge(octets).run(
        frames,
        host=[frame(90, 5)] * 3,
        cycles=900,
        pause=lambda: rng.randint(0, pause),
        o_ready=lambda: rng.random() < ready,
    )
    answers = {solicitation(tags=tags): advertisement(tags=tags) for tags in range(3)}
    answered = [packet for packet in edge.sent if packet != frame(90, 5)]
    assert edge.sent.count(frame(90, 5)) == 3
    assert len(answered) == edge.events["solicitation_answered"]
    # Take the answered ones out, in order; all others have passed.
    rest = list(frames)
    for answer in answered:
        assert answer in answers.values()
    left = iter(edge.passed)
    following = next(left, None)
    gone = []
    for packet in rest:
        if packet == following:
            following = next(left, None)
        else:
            gone.append(answers.get(packet))
    assert following is None
    assert sorted(gone) == sorted(answered)

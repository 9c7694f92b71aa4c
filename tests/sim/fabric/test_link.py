from dataclasses import replace

import pytest

from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.fabric.counters import DropCause
from mrcnic.sim.fabric.link import OVERHEAD_OCTETS, Link, LinkSettings

#: 100 Gb/s.
PS_PER_OCTET = 80


def link(**settings):
    ends = {
        name: settings.pop(name) for name in ("from_host", "to_host", "seed") if name in settings
    }
    return Link("x", "y", LinkSettings(**settings), **ends)


def write(octets=1000):
    return Packet(
        opcode=0xCA,
        source=1,
        destination=2,
        dqp=0x12,
        psn=0,
        extensions={"meth": {}, "tseth": {"ftype": 1}, "reth": {}},
        payload=bytes(octets),
    ).encapsulated(3, 4)


def frame(octets=1000):
    return bytes(12) + b"\x86\xdd" + write(octets).encode()


def test_rate_and_delay():
    one = link(delay_ps=700)
    octets = 1000 + OVERHEAD_OCTETS
    assert one.send(bytes(1000), 0) == (octets * PS_PER_OCTET + 700, bytes(1000))
    # the second waits for the first, and the third comes after a pause
    assert one.send(bytes(1000), 0)[0] == 2 * octets * PS_PER_OCTET + 700
    assert one.backlog(0) == 2 * octets
    later = 3 * octets * PS_PER_OCTET
    assert one.backlog(later) == 0
    assert one.send(bytes(1000), later)[0] == later + octets * PS_PER_OCTET + 700
    assert (one.counters.frames, one.counters.octets) == (3, 3000)


def test_queue_has_a_limit():
    """Frames fit as long as what waits and they themselves are within it, to the octet."""
    one = link(queue_octets=3 * 1024)
    assert isinstance(one.send(bytes(1000), 0), tuple)
    assert isinstance(one.send(bytes(1000), 0), tuple)
    assert one.send(bytes(1025), 0) is DropCause.QUEUE_FULL
    assert isinstance(one.send(bytes(1024), 0), tuple)
    assert one.send(bytes(1), 0) is DropCause.QUEUE_FULL
    assert isinstance(one.send(bytes(1), PS_PER_OCTET * 25), tuple)
    assert one.counters.frames == 4


def test_host_keeps_its_own_queue():
    one = link(queue_octets=100, from_host=True)
    for _ in range(10):
        assert isinstance(one.send(bytes(1000), 0), tuple)


def test_down():
    one = link()
    one.send(bytes(1000), 0)
    one.set_up(False, 10)
    assert one.losses == 1
    assert one.send(bytes(1000), 10) is DropCause.LINK_DOWN
    assert one.backlog(10) == 0
    one.set_up(False, 20)
    one.set_up(True, 30)
    assert one.losses == 1
    assert isinstance(one.send(bytes(1000), 30), tuple)


def test_chance():
    def fates(seed):
        one = link(drop=0.25, seed=seed)
        return [one.send(bytes(100), n * 10**6) is DropCause.RANDOM for n in range(4000)]

    assert fates(1) == fates(1) != fates(2)
    assert 900 < sum(fates(1)) < 1100
    assert not any(isinstance(link(drop=1.0).send(b"", n), tuple) for n in range(10))


def test_each_link_has_its_own_chance():
    settings = LinkSettings(drop=0.5)
    fates = {
        tuple(one.send(b"", n * 10**6) is DropCause.RANDOM for n in range(64))
        for one in (Link("x", "y", settings), Link("y", "x", settings), Link("x", "z", settings))
    }
    assert len(fates) == 3


def test_one_link_may_be_worse_than_the_others():
    one = link()
    one.settings = replace(one.settings, drop=1.0)
    assert one.send(b"", 0) is DropCause.RANDOM


def test_marks_what_finds_a_queue():
    one = link(ecn_octets=2000)
    marks = [Packet.decode(one.send(frame(), 0)[1]).ce for _ in range(4)]
    assert marks == [False, False, True, True]
    assert one.counters.marked == 2
    last_hop = link(ecn_octets=2000, to_host=True)
    assert not any(Packet.decode(last_hop.send(frame(), 0)[1]).ce for _ in range(4))


@pytest.mark.parametrize(("to_host", "dscp"), [(False, 16), (True, 18)])
def test_trims_what_finds_no_room(to_host, dscp):
    one = link(queue_octets=2000, trim=True, to_host=to_host)
    assert not Packet.decode(one.send(frame(), 0)[1]).trimmed
    cut = Packet.decode(one.send(frame(), 0)[1])
    assert (cut.trimmed, cut.outer.dscp) == (True, dscp)
    assert one.counters.trimmed == 1
    # control packets are never cut, and room for cut ones ends too
    assert one.send(bytes(12) + b"\x86\xdd\x6b\xa0" + bytes(1900), 0) is DropCause.QUEUE_FULL
    results = [one.send(frame(), 0) for _ in range(200)]
    assert results[-1] is DropCause.QUEUE_FULL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate_bps": 0}, "^rate_bps must be at least 1, not 0$"),
        ({"queue_octets": 0}, "^queue_octets must be at least 1, not 0$"),
        ({"delay_ps": -1}, "^delay_ps must be at least 0, not -1$"),
        ({"drop": 1.5}, "^drop must be from 0 to 1, not 1.5$"),
    ],
)
def test_limits(settings, message):
    with pytest.raises(ValueError, match=message):
        LinkSettings(**settings)

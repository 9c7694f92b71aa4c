"""Two NICs' frames across a whole fabric."""

from collections import Counter
from ipaddress import IPv6Address

import pytest
from fabric_packets import FOREVER, TOPOLOGY, US, A, B, packet, send
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.outer import Ethernet
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.pcap import PcapWriter, read_pcap
from mrcnic.sim.fabric.counters import DropCause
from mrcnic.sim.fabric.fabric import Fabric
from mrcnic.sim.fabric.faults import Fault, delay_if, drop_if, duplicate_if, parse_fault
from mrcnic.sim.fabric.link import OVERHEAD_OCTETS, LinkSettings
from mrcnic.sim.fabric.topology import Host, Topology, default_topology


def psns(arrived):
    return [Packet.decode(frame).psn for _, _, frame in arrived]


def test_walk():
    """Each switch takes its uSID out; the inner packet and the time on the way are exact."""
    topology = Topology(
        planes=3, leaves=2, spines=1, block=0x5F000001, hosts=(
            Host(name="a", number=1, leaf=0), Host(name="b", number=5, leaf=1),
        ),
    )  # fmt: skip
    fabric = Fabric(topology, LinkSettings(delay_ps=1000))
    seen = []
    fabric.frame_observers.append(
        lambda link, time_ps, frame: seen.append((
            link,
            time_ps,
            IPv6Address(frame[38:54]),
            frame[21],
        ))
    )
    a, b = topology.hosts
    sent = packet(ev=0xC0052010, source=a, destination=b, topology=topology)
    fabric.send("a2", sent.encode(), 70)
    ((time_ps, port, frame),) = fabric.advance(FOREVER)

    hop = (len(sent.encode()) + OVERHEAD_OCTETS) * 80 + 1000
    path = ("2401:2801:2402:2c05", "2801:2402:2c05", "2402:2c05", "2c05")
    assert seen == [
        (link, 70 + n * hop, IPv6Address(f"5f00:1:{usids}::"), 64 - n)
        for n, (link, usids) in enumerate(
            zip(("a2-p2t00", "p2t00-p2t10", "p2t10-p2t01", "p2t01-b2"), path, strict=True)
        )
    ]
    assert (time_ps, port) == (70 + 4 * hop, "b2")
    arrived = Packet.decode(frame)
    assert arrived.ethernet == Ethernet(
        destination=topology.mac(b, 2), source=topology.switch_mac(2, 0, 1)
    )
    assert arrived.outer.hop_limit == 61
    assert frame[54:] == sent.encode()[54:]


@pytest.mark.parametrize("srv6", [True, False])
def test_every_ev_arrives_in_its_plane(srv6):
    fabric = Fabric(TOPOLOGY)
    evs = TOPOLOGY.evs(64)
    for psn, ev in enumerate(evs):
        send(fabric, psn, psn * US, ev=ev, srv6=srv6)
        send(fabric, psn, psn * US, ev=ev, srv6=srv6, source=B, destination=A)
    arrived = fabric.advance(FOREVER)
    assert Counter(port for _, port, _ in arrived) == dict.fromkeys(("a0", "a1", "b0", "b1"), 32)
    for _, port, frame in arrived:
        one = Packet.decode(frame)
        assert one.ev == evs[one.psn]
        assert port[1] == str(EvFields.unpack(one.ev).plane)
    spines = [fabric.by_node()[name].frames for name in TOPOLOGY.switches if name[3] == "1"]
    if srv6:
        assert spines == [16] * 8
    else:
        assert sum(spines) == 128
        assert min(spines) > 0
    assert [plane.frames for plane in fabric.by_plane()] == [64, 64]
    assert not fabric.drops


def test_under_one_t0():
    topology = default_topology(leaves=1)
    for srv6 in (True, False):
        fabric = Fabric(topology)
        a, b = topology.hosts
        send(fabric, srv6=srv6, source=a, destination=b, topology=topology)
        assert [port for _, port, _ in fabric.advance(FOREVER)] == ["b0"]
        assert sum(link.counters.frames for link in fabric.links.values()) == 2


def test_time_passes_in_steps():
    whole, stepped = Fabric(TOPOLOGY), Fabric(TOPOLOGY)
    for fabric in (whole, stepped):
        for psn in range(20):
            send(fabric, psn, psn * 1000)
    arrived = []
    for now in range(0, 5 * US, 4000):
        some = stepped.advance(now)
        assert all(now - 4000 < time_ps <= now for time_ps, _, _ in some)
        arrived += some
    assert arrived == whole.advance(FOREVER)
    assert psns(arrived) == list(range(20))
    assert whole.next_ps is None


def test_next_time():
    fabric = Fabric(TOPOLOGY)
    assert fabric.next_ps is None
    send(fabric, time_ps=500)
    assert fabric.next_ps == 500
    fabric.advance(500)
    assert fabric.next_ps == 500 + (len(packet().encode()) + OVERHEAD_OCTETS) * 80 + 500_000


def test_the_past_is_over():
    fabric = Fabric(TOPOLOGY)
    fabric.advance(1000)
    with pytest.raises(ValueError, match=r"^time_ps must be at least 1000, not 999$"):
        send(fabric, time_ps=999)
    with pytest.raises(ValueError, match=r"^time_ps must be at least 1000, not 999$"):
        fabric.add_fault(Fault(target="p0t10", time_ps=999))
    with pytest.raises(ValueError, match=r"^there is no port c0; the ports are a0, b0, a1, b1$"):
        fabric.send("c0", b"", 1000)


# ---- queues --------------------------------------------------------------------------------------


def test_incast_overflows_the_last_queue():
    """Two hosts at full rate into one port: its queue fills, and half of the rest is lost there."""
    topology = Topology(planes=1, leaves=1, spines=1, hosts=tuple(
        Host(name=name, number=number, leaf=0) for number, name in enumerate("abc", 1)
    ))  # fmt: skip
    a, b, c = topology.hosts
    fabric = Fabric(topology, LinkSettings(queue_octets=20_000))
    octets = len(packet(size=1024).encode())
    for psn in range(200):
        for source in (a, b):
            send(fabric, psn, 0, source=source, destination=c, topology=topology, size=1024)
    arrived = fabric.advance(FOREVER)
    assert fabric.drops == {DropCause.QUEUE_FULL: 400 - len(arrived)}
    assert fabric.links["p0t00-c0"].counters.dropped == 400 - len(arrived)
    assert abs(len(arrived) - (200 + 20_000 // octets)) <= 2
    assert fabric.by_node()["p0t00"].dropped == fabric.by_plane()[0].dropped == 400 - len(arrived)


def test_congestion_is_seen_by_the_receiver():
    topology = default_topology(planes=1, spines=1)
    a, b = topology.hosts
    hosts = (a, b, Host(name="c", number=3, leaf=0))
    topology = Topology(planes=1, leaves=2, spines=1, hosts=hosts)
    fabric = Fabric(topology, LinkSettings(ecn_octets=5000))
    for psn in range(30):
        for source in (hosts[0], hosts[2]):
            send(fabric, psn, 0, source=source, destination=b, topology=topology, size=1024)
    arrived = [Packet.decode(frame) for _, _, frame in fabric.advance(FOREVER)]
    marks = [one.ce for one in arrived]
    assert len(arrived) == 60
    assert not any(marks[:8])
    assert all(marks[20:])
    assert fabric.by_plane()[0].marked == sum(marks)


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "links"),
    [
        ("p0t10@3us-6us", {"p0t00-p0t10", "p0t10-p0t01"}),
        ("p0t00-p0t10@3us-6us", {"p0t00-p0t10"}),
        ("p0t10-p0t01@3us-6us", {"p0t10-p0t01"}),
        ("b0@3us-6us", {"p0t01-b0"}),
        ("p0t01@3us-6us", {"p0t10-p0t01", "p0t01-b0"}),
    ],
)
def test_failure_for_a_while(fault, links):
    """What is on a link when it fails, and what comes later, is lost; then it works again."""
    fabric = Fabric(TOPOLOGY, faults=parse_fault(fault, TOPOLOGY))
    lost = []
    fabric.drop_observers.append(
        lambda cause, where, time_ps, frame: lost.append((cause, where, time_ps))
    )
    for psn in range(100):
        send(fabric, psn, psn * US // 10)
    got = psns(fabric.advance(FOREVER))
    assert got == sorted(got)
    gone = sorted(set(range(100)) - set(got))
    assert gone == list(range(gone[0], gone[-1] + 1))
    # 3 us of new frames, one every 0.1 us, and those on each link, for about 0.6 us
    assert len(gone) in range(30 + 4 * len(links), 30 + 7 * len(links))
    assert {(cause, where) for cause, where, _ in lost} == {
        (DropCause.LINK_DOWN, link) for link in links
    }
    assert fabric.drops == {DropCause.LINK_DOWN: len(gone)}
    assert fabric.by_plane()[1].dropped == 0


def test_failure_leaves_other_paths_alone():
    fabric = Fabric(TOPOLOGY, faults=parse_fault("p0t10@0us", TOPOLOGY))
    for psn, ev in enumerate(TOPOLOGY.evs(64)):
        send(fabric, psn, psn * US, ev=ev)
    fabric.advance(FOREVER)
    assert fabric.drops == {DropCause.LINK_DOWN: 8}
    assert fabric.by_node()["p0t00"].dropped == 8


def test_fault_comes_before_frames_of_its_time():
    fabric = Fabric(TOPOLOGY)
    send(fabric, time_ps=5)
    fabric.add_fault(Fault(target="p0t00", time_ps=5))
    assert not fabric.advance(FOREVER)
    assert fabric.links["a0-p0t00"].counters.drops == {DropCause.LINK_DOWN: 1}
    assert fabric.links["a0-p0t00"].counters.frames == 0


def test_port_sees_its_link():
    faults = (*parse_fault("p1t00@5us-7us", TOPOLOGY), *parse_fault("a0@6us", TOPOLOGY))
    fabric = Fabric(TOPOLOGY, faults=faults)
    happened = []
    fabric.fault_observers.append(happened.append)
    states = []
    for now in range(4, 9):
        fabric.advance(now * US)
        states.append([fabric.port_up(port) for port in ("a0", "a1", "b1")])
    assert states == [
        [True, True, True],
        [True, False, True],
        [False, False, True],
        [False, True, True],
        [False, True, True],
    ]
    assert happened == [faults[0], faults[2], faults[1]]


def test_two_faults_on_one_link():
    """A link works only if neither it nor a switch at its ends is down."""
    fabric = Fabric(TOPOLOGY)
    link = fabric.links["p0t00-p0t10"]
    states = []
    for step, text in enumerate(("p0t10", "p0t00-p0t10", "+p0t10", "+p0t00-p0t10")):
        for fault in parse_fault(f"{text}@{step}us", TOPOLOGY):
            fabric.add_fault(fault)
        fabric.advance(step * US)
        states.append(link.up)
    assert states == [False, False, False, True]


# ---- chance and meddling -------------------------------------------------------------------------


def outcome(seed, drop):
    fabric = Fabric(TOPOLOGY, LinkSettings(drop=drop), seed=seed)
    for psn in range(500):
        send(fabric, psn, psn * 10_000)
    return fabric.advance(FOREVER), fabric.drops


def test_chance_is_the_seeds():
    arrived, drops = outcome(1, 0.05)
    assert (arrived, drops) == outcome(1, 0.05) != outcome(2, 0.05)
    assert drops == {DropCause.RANDOM: 500 - len(arrived)}
    assert 60 < drops.total() < 130  # four links, 19 % expected


def test_losses_of_a_link_do_not_depend_on_other_traffic():
    def lost(other):
        fabric = Fabric(TOPOLOGY, LinkSettings(drop=0.05), seed=3)
        for psn in range(200):
            send(fabric, psn, psn * US)
            if other:
                send(fabric, psn, psn * US, ev=0xC0201010)
        fabric.advance(FOREVER)
        return fabric.by_plane()[0].drops

    assert lost(False) == lost(True)


def test_meddlers():
    def is_psn(*wanted, at="p0t10-p0t01"):
        return lambda frame, time_ps, place: place == at and Packet.decode(frame).psn in wanted

    fabric = Fabric(TOPOLOGY)
    fabric.meddlers += [
        drop_if(is_psn(1)),
        delay_if(is_psn(2), 5 * US),
        duplicate_if(is_psn(3), 7 * US),
    ]
    for psn in range(5):
        send(fabric, psn, psn * US)
    assert psns(fabric.advance(FOREVER)) == [0, 3, 4, 2, 3]
    assert fabric.drops == {DropCause.MEDDLER: 1}


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.3]), st.integers(1, 60))
def test_nothing_is_lost_uncounted(seed, drop, frames):
    fabric = Fabric(
        TOPOLOGY,
        LinkSettings(drop=drop, queue_octets=2000),
        faults=parse_fault("p0t11@2us-3us", TOPOLOGY),
        seed=seed,
    )
    evs = TOPOLOGY.evs(16)
    for psn in range(frames):
        send(fabric, psn, psn * 50_000, ev=evs[psn % 16])
        send(fabric, psn, psn * 50_000, ev=evs[psn % 3], source=B, destination=A)
    arrived = fabric.advance(FOREVER)
    assert len(arrived) + fabric.drops.total() == 2 * frames
    assert sum(plane.frames for plane in fabric.by_plane()) == 2 * frames
    assert [time_ps for time_ps, _, _ in arrived] == sorted(time_ps for time_ps, _, _ in arrived)
    ways = {}
    for _, port, frame in arrived:
        one = Packet.decode(frame)
        ways.setdefault((port, one.ev), []).append(one.psn)
    assert all(way == sorted(way) for way in ways.values())


def test_capture(tmp_path):
    fabric = Fabric(TOPOLOGY)
    path = tmp_path / "fabric.pcapng"
    sent = packet(7).encode()
    with PcapWriter(path) as writer:
        fabric.frame_observers.append(
            lambda link, time_ps, frame: writer.write(link, time_ps // 1000, frame)
        )
        fabric.send("a0", sent, 2_000_000)
        fabric.advance(FOREVER)
    frames = list(read_pcap(path))
    assert [frame.interface for frame in frames] == [
        "a0-p0t00", "p0t00-p0t10", "p0t10-p0t01", "p0t01-b0",
    ]  # fmt: skip
    assert (frames[0].time_ns, frames[0].frame) == (2000, sent)
    assert Packet.decode(frames[-1].frame).psn == 7

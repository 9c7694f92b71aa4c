"""The kernel's routers carry what the NICs send, as the model's switches do."""

import socket
import subprocess
from dataclasses import replace
from ipaddress import IPv6Address

import pytest
from fabric_packets import TOPOLOGY, US, A, B, packet, send
from kernel_networks import need_kernel_network

import mrcnic.sim.fabric.linux.fabric as linux_fabric
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.fabric.counters import DropCause
from mrcnic.sim.fabric.fabric import Fabric
from mrcnic.sim.fabric.faults import parse_fault
from mrcnic.sim.fabric.linux.fabric import LinuxFabric
from mrcnic.sim.fabric.linux.network import KernelNetwork
from mrcnic.sim.fabric.topology import default_topology

#: One for each T1 switch of each plane.
EVS = TOPOLOGY.evs(8)


@pytest.fixture(scope="module")
def network():
    need_kernel_network()
    with KernelNetwork.created(TOPOLOGY) as network:
        yield network


@pytest.fixture
def fabric(network):
    with LinuxFabric(network) as fabric:
        yield fabric


class Failures:
    """What has failed, so that it can come back."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.faults = []

    def fail(self, what):
        (fault,) = parse_fault(f"{what}@1us", TOPOLOGY)
        self.faults.append(fault)
        self.apply(fault)

    def repair(self):
        """Let what failed last come back."""
        self.apply(replace(self.faults.pop(), up=True))

    def apply(self, fault):
        self.fabric.add_fault(replace(fault, time_ps=self.fabric.now_ps))
        self.fabric.advance(self.fabric.now_ps)


@pytest.fixture
def failures(network, fabric):
    failures = Failures(fabric)
    yield failures
    while failures.faults:
        failures.repair()
    assert network.down == set()


def test_each_switch_runs_end_with_next_csid(network):
    for switch in TOPOLOGY.switches:
        routes = subprocess.run(
            ["ip", "-6", "-netns", network.namespace(switch), "route"],
            capture_output=True, encoding="utf-8", check=True,
        ).stdout.splitlines()  # fmt: skip
        plane, tier, index = (int(switch[n]) for n in (1, 3, 4))
        usid = plane << 12 | (tier + 1) << 10 | index + 1
        (own,) = [line for line in routes if line.startswith(f"fcbb:bbbb:{usid:x}::/48 ")]
        assert "encap seg6local action End flavors next-csid lblen 32 nflen 16 dev segment" in own


@pytest.mark.parametrize("size", [1, 4096])
def test_each_way_is_that_of_the_model(fabric, size):
    """Through every T1 switch in both directions: same octets, same times."""
    model = Fabric(TOPOLOGY)
    for psn, ev in enumerate(EVS):
        for source, destination in ((A, B), (B, A)):
            for each in (fabric, model):
                send(each, psn, psn * US, ev=ev, source=source, destination=destination, size=size)
    arrived = fabric.advance(1000 * US)
    assert arrived == model.advance(1000 * US)
    assert len(arrived) == 2 * len(EVS)
    for _, port, frame in arrived:
        nic = 0xC01 if port[0] == "a" else 0xC02
        carrier = IPv6Address(f"fcbb:bbbb:{int(port[1]) << 12 | nic:x}::")
        assert IPv6Address(frame[38:54]) == carrier
        assert frame[21] == 64 - 3
    assert fabric.switches.frames == 2 * len(EVS)
    assert not fabric.drops


def test_frames_in_a_row_queue_as_in_the_model(fabric):
    """They come faster than the link to the host takes them."""
    model = Fabric(TOPOLOGY)
    for psn in range(40):
        send(fabric, psn, psn * 10, ev=EVS[psn % 4], size=1000)
        send(model, psn, psn * 10, ev=EVS[psn % 4], size=1000)
    arrived, expected = fabric.advance(1000 * US), model.advance(1000 * US)
    assert [item[::2] for item in sorted(arrived)] == [item[::2] for item in sorted(expected)]


def test_longest_frame_passes(fabric):
    size = 9216 + 14 - (len(packet().encode()) - 64)
    send(fabric, size=size)
    ((_, _, frame),) = fabric.advance(1000 * US)
    assert len(frame) == 9216 + 14


def test_plain_packets_take_any_way(fabric):
    for psn, ev in enumerate(EVS):
        send(fabric, psn, psn * US, ev=ev, srv6=False)
        send(fabric, psn, psn * US, ev=ev, srv6=False, source=B, destination=A)
    arrived = fabric.advance(1000 * US)
    assert len(arrived) == 2 * len(EVS)
    for _, port, frame in arrived:
        one = Packet.decode(frame)
        assert port == f"{'ba'[one.source == B.address]}{EvFields.unpack(one.ev).plane}"
        assert frame[21] == 64 - 3


def survivors(fabric):
    """Send a packet on each way from A to B, and return the ways of those that arrive."""
    for psn, ev in enumerate(EVS):
        send(fabric, psn, fabric.now_ps, ev=ev)
    arrived = fabric.advance(fabric.now_ps + 100 * US)
    return sorted(Packet.decode(frame).psn for _, _, frame in arrived)


@pytest.mark.parametrize(
    ("what", "lost"),
    [("p0t10", [0]), ("p1t13", [7]), ("p0t00-p0t11", [1]), ("p1t01-p1t12", [6])],
)
def test_failure_loses_exactly_its_ways(fabric, failures, what, lost):
    drops = []
    fabric.drop_observers.append(lambda *drop: drops.append(drop))
    failures.fail(what)
    assert survivors(fabric) == [way for way in range(8) if way not in lost]
    assert [(cause, place[:4]) for cause, place, _, _ in drops] == [
        (DropCause.LINK_DOWN, f"p{lost[0] // 4}t0")
    ]
    assert all(fabric.port_up(port) for port in TOPOLOGY.ports)
    failures.repair()
    assert survivors(fabric) == list(range(8))
    assert fabric.drops == {DropCause.LINK_DOWN: 1}


@pytest.mark.parametrize("what", ["p0t00", "p0t01", "b0"])
def test_plane_dies_with_a_t0_or_a_port(fabric, failures, what):
    """The NICs below see their ports go down."""
    failures.fail(what)
    assert [port for port in TOPOLOGY.ports if not fabric.port_up(port)] == [
        {"p0t00": "a0", "p0t01": "b0", "b0": "b0"}[what]
    ]
    assert survivors(fabric) == [4, 5, 6, 7]
    assert fabric.drops == {DropCause.LINK_DOWN: 4}
    failures.repair()
    assert survivors(fabric) == list(range(8))


@pytest.mark.parametrize("order", [("p0t00", "p0t10"), ("p0t10", "p0t00")])
def test_neighbours_that_fail_come_back_one_by_one(fabric, failures, order):
    for what in order:
        failures.fail(what)
    assert survivors(fabric) == [4, 5, 6, 7]
    failures.repair()
    assert survivors(fabric) == ([4, 5, 6, 7] if order[0] == "p0t00" else [1, 2, 3, 4, 5, 6, 7])
    failures.repair()
    assert survivors(fabric) == list(range(8))


def test_frame_that_has_left_the_kernel_arrives(fabric, failures):
    """What a switch has forwarded does not die with it, and later frames do."""
    send(fabric, 1, ev=EVS[0])
    fabric.advance(US)
    failures.fail("p0t10")
    send(fabric, 2, fabric.now_ps, ev=EVS[0])
    assert [Packet.decode(frame).psn for _, _, frame in fabric.advance(100 * US)] == [1]


def test_what_the_kernel_refuses_is_lost(fabric, monkeypatch):
    monkeypatch.setattr(linux_fabric, "_PATIENCE_S", 0.2)
    frame = packet().encode()
    bad_frames = (
        frame.replace(bytes.fromhex("fcbbbbbb0401"), bytes.fromhex("fcbbbbbb07ff")),  # no such uSID
        frame[:21] + b"\x02" + frame[22:],  # hop limit
        bytes(6) + frame[6:],
        frame[:12] + b"\x08\x00" + frame[14:],
        frame[:12] + b"\x81\x00\x00\x07" + frame[12:],  # a VLAN that the switch is not in
    )
    for bad in bad_frames:
        fabric.send("a0", bad, fabric.now_ps)
        assert fabric.advance(fabric.now_ps + 100 * US) == []
    assert fabric.drops == {DropCause.KERNEL: len(bad_frames)}
    assert survivors(fabric) == list(range(8))


def test_what_the_kernel_says_itself_reaches_no_nic(network, fabric):
    before = fabric.foreign
    with network.inside("p0t01") as ip:
        index = ip.link_lookup(ifname="b0")[0]
        address = {"index": index, "address": "fe80::5", "prefixlen": 64}
        ip.addr("add", **address)
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as talker:
                talker.sendto(b"hello", ("fe80::1", 9, 0, index))
        finally:
            ip.addr("del", **address)
    assert survivors(fabric) == list(range(8))
    assert fabric.foreign > before


def test_meddlers_act_at_the_entrance(fabric):
    places = []

    def meddle(frame, time_ps, place):
        places.append(place)
        return () if place == "a0-p0t00" else None

    fabric.meddlers.append(meddle)
    send(fabric, ev=EVS[0])
    send(fabric, ev=EVS[4])
    assert [port for _, port, _ in fabric.advance(100 * US)] == ["b1"]
    assert places == ["a0-p0t00", "a1-p1t00", "p1t01-b1"]
    assert fabric.drops == {DropCause.MEDDLER: 1}


def test_hosts_under_one_t0():
    need_kernel_network()
    topology = default_topology(planes=1, leaves=1, spines=1)
    a, b = topology.hosts
    with KernelNetwork.created(topology) as network, LinuxFabric(network) as fabric:
        model = Fabric(topology)
        for each in (fabric, model):
            send(each, ev=0xC0000010, source=a, destination=b, topology=topology)
        assert fabric.advance(100 * US) == model.advance(100 * US) != []

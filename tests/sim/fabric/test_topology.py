from collections import Counter
from ipaddress import IPv6Address

import pytest

from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.fabric.topology import Host, Topology, default_topology


def test_names():
    topology = default_topology()
    assert topology.switches == (
        "p0t00", "p0t01", "p0t10", "p0t11", "p0t12", "p0t13",
        "p1t00", "p1t01", "p1t10", "p1t11", "p1t12", "p1t13",
    )  # fmt: skip
    assert topology.ports == ("a0", "a1", "b0", "b1")
    assert len(topology.links) == 2 * (2 + 2 * 4)
    assert ("a0", "p0t00") in topology.links
    assert ("b1", "p1t01") in topology.links
    assert ("p1t01", "p1t13") in topology.links
    assert topology.plane_of["p1t13"] == topology.plane_of["b1"] == 1


def test_carrier_of_a_path():
    topology = default_topology()
    a, b = topology.hosts
    template = topology.template(a, b)
    ev = EvFields(index=40, plane=1, uplink=3).pack()
    expected = "fcbb:bbbb:1401:1803:1402:1c02::"
    assert IPv6Address(template.expand(ev)) == IPv6Address(expected)
    assert IPv6Address(topology.template(b, a).expand(ev)) == IPv6Address(
        "fcbb:bbbb:1402:1803:1401:1c01::"
    )


def test_carrier_under_one_t0():
    topology = default_topology(leaves=1)
    a, b = topology.hosts
    ev = EvFields(index=0, plane=1, uplink=3).pack()
    assert IPv6Address(topology.template(a, b).expand(ev)) == IPv6Address("fcbb:bbbb:1401:1c02::")


def test_evs_are_dealt_evenly():
    topology = default_topology(planes=2, spines=4)
    evs = [EvFields.unpack(ev) for ev in topology.evs(64)]
    assert [ev.index for ev in evs] == list(range(64))
    assert all(ev.plane == ev.index // 32 for ev in evs)
    assert set(Counter((ev.plane, ev.uplink) for ev in evs).values()) == {8}
    assert {ev.uplink for ev in evs} == {1, 2, 3, 4}


def test_addresses_are_all_different():
    topology = default_topology(planes=3)
    values = [host.address for host in topology.hosts]
    values += [topology.underlay(host, plane) for host in topology.hosts for plane in range(3)]
    macs = [topology.mac(host, plane) for host in topology.hosts for plane in range(3)]
    macs += [
        topology.switch_mac(plane, tier, index)
        for plane in range(3)
        for tier, count in ((0, 2), (1, 4))
        for index in range(count)
    ]
    assert len(set(values)) == len(values)
    assert len(set(macs)) == len(macs)
    a, b = topology.hosts
    assert IPv6Address(a.address) == IPv6Address("fd00:0:0:1::1")
    assert IPv6Address(topology.underlay(b, 2)) == IPv6Address("fd00:1:2:2::1")
    assert topology.next_hop_mac(b, 2) == topology.switch_mac(2, 0, 1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"planes": 17}, "^planes must be from 1 to 16, not 17$"),
        ({"leaves": 0}, "^leaves must be from 1 to 1022, not 0$"),
        ({"spines": 256}, "^spines must be from 1 to 255, not 256$"),
        (
            {"hosts": (Host(name="a", number=1, leaf=2),)},
            "^leaf of host a must be below 2, not 2$",
        ),
        (
            {"hosts": (Host(name="a", number=0, leaf=0),)},
            "^number of host a must be from 1 to 1023, not 0$",
        ),
        (
            {"hosts": (Host(name="a", number=1, leaf=0), Host(name="a", number=2, leaf=0))},
            "^two hosts have the same name$",
        ),
    ],
)
def test_limits(sizes, message):
    with pytest.raises(ValueError, match=message):
        Topology(**sizes)


def test_wrong_questions():
    with pytest.raises(ValueError, match=r"^there is no host c; the hosts are a, b$"):
        default_topology().host("c")
    with pytest.raises(
        ValueError, match=r"^count of EVs must be a multiple of 2 up to 256, not 3$"
    ):
        default_topology().evs(3)
    assert default_topology().host("b").leaf == 1

"""One switch, against literal addresses."""

from ipaddress import IPv6Address

import pytest

from mrcnic.sim.fabric.counters import DropCause
from mrcnic.sim.fabric.link import Link, LinkSettings
from mrcnic.sim.fabric.switch import Switch

BLOCK = 0x5F000001
MAC = bytes.fromhex("020002000001")


def address(text):
    return IPv6Address(text).packed


def frame(destination, *, hop_limit=64, flow_label=0, port=0xC000):
    ipv6 = (6 << 28 | flow_label).to_bytes(4, "big") + b"\0\x08\x11" + bytes([hop_limit])
    udp = port.to_bytes(2, "big") + b"\x12\xb7\0\x08\0\0"
    return MAC + bytes(6) + b"\x86\xdd" + ipv6 + bytes(16) + address(destination) + udp


def link(name):
    return Link("s", name, LinkSettings(), macs=name.encode().ljust(12))


@pytest.fixture
def switch():
    """T0 2 of plane 2: a NIC at downlink 5, two T1 above, a neighbour."""
    switch = Switch("p2t01", block=BLOCK, usid=0x2402, mac=MAC)
    switch.add_segment(0x2C05, link("nic5"))
    switch.add_segment(0x2801, link("t10"))
    switch.add_segment(0x2802, link("t11"))
    switch.add_host(int(IPv6Address("2001:db8:b::1")), (link("nic5"),))
    switch.add_host(int(IPv6Address("2001:db8:a::1")), (link("t10"), link("t11")))
    return switch


@pytest.mark.parametrize(
    ("before", "after", "leaves_by"),
    [
        ("5f00:1:2402:2801:2402:2c05::", "5f00:1:2801:2402:2c05::", "t10"),
        ("5f00:1:2402:2c05::", "5f00:1:2c05::", "nic5"),
        # six uSIDs, none of them lost
        (
            "5f00:1:2402:2802:2403:2801:2402:2c05",
            "5f00:1:2802:2403:2801:2402:2c05:0",
            "t11",
        ),
        # nothing of ours in front: looked up as it is, never taken in
        ("5f00:1:2c05::", "5f00:1:2c05::", "nic5"),
        # only the first 48 bits count
        ("5f00:1:2c05:ffff::", "5f00:1:2c05:ffff::", "nic5"),
        ("5f00:1:2801:2402:2c05::", "5f00:1:2801:2402:2c05::", "t10"),
        ("2001:db8:b::1", "2001:db8:b::1", "nic5"),
    ],
)
def test_forward(switch, before, after, leaves_by):
    leaving_link, leaving = switch.forward(frame(before))
    assert leaving_link.destination == leaves_by
    assert leaving == leaving_link.macs + frame(after, hop_limit=63)[12:]


@pytest.mark.parametrize(
    ("octets", "cause"),
    [
        (frame("5f00:1:2402::"), DropCause.FOR_THE_SWITCH),
        (frame("5f00:1:2402:0:2c05::"), DropCause.FOR_THE_SWITCH),
        (frame("5f00:1:2c04::"), DropCause.NO_ROUTE),
        (frame("5f00:2:2c05::"), DropCause.NO_ROUTE),
        (frame("5f00:1:2402:2c06::"), DropCause.NO_ROUTE),
        (frame("2001:db8:c::1"), DropCause.NO_ROUTE),
        (frame("5f00:1:2c05::", hop_limit=1), DropCause.HOP_LIMIT),
        (frame("5f00:1:2c05::", hop_limit=0), DropCause.HOP_LIMIT),
        (bytes(6) + frame("5f00:1:2c05::")[6:], DropCause.WRONG_MAC),
        (frame("5f00:1:2c05::")[:53], DropCause.NOT_IPV6),
        (MAC + bytes(6) + b"\x08\0" + bytes(60), DropCause.NOT_IPV6),
    ],
)
def test_refused(switch, octets, cause):
    assert switch.forward(octets) is cause


def test_each_packet_has_its_own_verdict(switch):
    """Four packets in a row with four destinations: no look-up leaks to its neighbour."""
    results = [
        switch.forward(frame(destination))
        for destination in ("5f00:1:2c05::", "5f00:1:2c06::", "5f00:1:3c05::", "2001:db8:b::1")
    ]
    assert [isinstance(result, DropCause) for result in results] == [False, True, True, False]


def test_plain_packets_spread_by_flow(switch):
    def way(**flow):
        return switch.forward(frame("2001:db8:a::1", **flow))[0].destination

    by_label = [way(flow_label=label) for label in range(256)]
    by_port = [way(port=0xC000 + index) for index in range(256)]
    for ways in (by_label, by_port):
        assert 100 < ways.count("t10") < 156
    assert by_label == [way(flow_label=label) for label in range(256)]

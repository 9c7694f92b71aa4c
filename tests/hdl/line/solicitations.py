"""Neighbour solicitations and the advertisements that answer them, as scapy makes them."""

from socket import AF_INET6, inet_ntop, inet_pton

from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

OWN_MAC = "02:00:00:00:1f:0a"
UNDERLAY = "2001:db8:1:2::c05"
LINK_LOCAL = "fe80::1f:fe00:a"
PEER_MAC = "02:00:00:00:00:77"
PEER = "fe80::77"

TAGS = {0: (), 1: (Dot1Q(vlan=7, prio=3),), 2: (Dot1AD(vlan=4000, dei=1), Dot1Q(vlan=12))}


def number(address):
    """Return the number that an IPv6 or MAC address is."""
    if address.count(":") == 5 and "::" not in address:
        return int(address.replace(":", ""), 16)
    return int.from_bytes(inet_pton(AF_INET6, address), "big")


def node(target):
    return inet_ntop(AF_INET6, inet_pton(AF_INET6, "ff02::1:ff00:0")[:13] + _tail(target))


def node_mac(target):
    return "33:33:ff:" + _tail(target).hex(":")


def _tail(target):
    return inet_pton(AF_INET6, target)[13:]


def tagged(tags, **addresses):
    frame = Ether(**addresses)
    for tag in TAGS[tags]:
        frame /= tag.copy()
    return frame


def solicitation(
    target=UNDERLAY, *, tags=0, options=None, ether=None, ipv6=None, icmp=None, extra=b""
):
    """Make a multicast solicitation; keywords change fields of its headers."""
    ether = {"src": PEER_MAC, "dst": node_mac(target)} | (ether or {})
    ipv6 = {"src": PEER, "dst": node(target), "hlim": 255} | (ipv6 or {})
    packet = IPv6(**ipv6) / ICMPv6ND_NS(**({"tgt": target} | (icmp or {})))
    for option in [ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC)] if options is None else options:
        packet /= option
    return bytes(tagged(tags, **ether) / packet) + extra


def duplicate_address_detection(target=UNDERLAY, *, tags=0, options=(), **changes):
    ipv6 = {"src": "::"} | changes.pop("ipv6", {})
    return solicitation(target, tags=tags, options=options, ipv6=ipv6, **changes)


def advertisement(target=UNDERLAY, *, tags=0, to=PEER, mac=PEER_MAC, solicited=1):
    """Make the answer to :func:`solicitation`."""
    packet = IPv6(src=target, dst=to, hlim=255)
    packet /= ICMPv6ND_NA(tgt=target, R=0, S=solicited, O=1)
    packet /= ICMPv6NDOptDstLLAddr(lladdr=OWN_MAC)
    return bytes(tagged(tags, src=OWN_MAC, dst=mac) / packet)

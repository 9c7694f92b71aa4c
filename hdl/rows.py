"""Rows of the tables that the host writes, in plain Python: gateware and driver share them.

A row is a number whose fields stand in the order given, the first in the most significant bits.
The host writes it as 32-bit words, the least significant first.
"""

from enum import IntEnum

from mrcnic.hdl.wire.headers import Header

__all__ = [
    "EV_ROW", "PEER_ROW", "PROFILE_ROW", "QP_ROW", "REGION_ROW", "ROUTE_ROW", "ROWS", "ROW_BITS",
    "Table",
]  # fmt: skip

#: Room for a row, in bits, whatever its table.
ROW_BITS = 512


class Table(IntEnum):
    """Tables, as the host numbers them."""

    QP = 0
    EV = 1
    REGION = 2
    ROUTE = 3
    PROFILE = 4
    PEER = 5


#: One queue pair. Writing a row with ``active`` clears every state that the QP had, then starts it;
#: without ``active`` it stops the QP. The row's index is the QPN modulo the number of QPs.
QP_ROW = Header(
    reserved=33,
    dynamic_mpr=1,  # the peer's SACKs tell of its window, which changes, and so do ours
    ipv4=1,  # inner packets are IPv4; addresses are the low 32 bits
    segments=4,  # segments of the outer path, 1 to 8; 0: no segment routing header
    reduced=1,  # the first segment is only in the destination, not in the list
    route=8,  # row of the segments behind the first
    peer=16,  # row of the remote NIC
    active=1,
    trim_nack=1,  # the peer takes and sends NACKs of trimmed packets
    srv6=1,  # route by uSID carrier; otherwise plain IPv6
    qpn=24,  # own number, all of it: packets for another one with the same index are strangers
    remote_qpn=24,
    destination=128,  # the peer's own address, of the inner IPv6 header
    carrier=128,  # uSID carrier with plane and uplink left zero
    plane_slots=6,  # which uSIDs take the plane; bit 0 is the first after the block
    uplink_slots=6,  # which uSID takes the uplink
    profile=8,
    mtu_code=3,  # path MTU is 256 << mtu_code
    tx_psn=24,  # first PSN sent
    rx_psn=24,  # first PSN expected
    mpr=8,  # the peer's window, in units of 128 PSNs, to begin with
    max_immediates=8,  # writes with immediate that the peer lets be under way
    cwnd=25,  # congestion window, in octets
    timeout=5,  # retransmission time-out is 1.024 us * 2**timeout
    linear_count=3,  # time-outs before doubling starts
    exponential_count=5,  # doublings before the QP fails; 25: never
    domain=16,  # protection domain
)

#: One entropy value; the row's index is profile * evs + ev_index.
EV_ROW = Header(reserved=6, valid=1, active=1, ev=32)

#: One profile, from the next start of a QP on: while there are backups, so many EVs of each plane
#: are active and GOOD, whatever the rows of the EVs say.
PROFILE_ROW = Header(min_active=8)

#: One memory region; the row's index is the rkey modulo the number of regions.
REGION_ROW = Header(reserved=6, valid=1, remote_write=1, rkey=32, base=64, octets=64, domain=16)

#: One segment behind the first; the index is (port * routes + route) * 8 + n, n from 1 to 7.
ROUTE_ROW = Header(segment=128)

#: One remote NIC, for endpoint packets. Writing a row forgets all that was known of the NIC.
PEER_ROW = Header(
    reserved=4,
    valid=1,
    ipv4=1,  # inner packets are IPv4; the address is the low 32 bits
    srv6=1,  # route by uSID carrier; otherwise plain IP
    segments=4,  # segments of the outer path, as in QP_ROW
    reduced=1,
    route=8,
    address=128,  # the NIC's own address: destination of requests, source of what comes from it
    carrier=128,  # uSID carrier with plane and uplink left zero
    plane_slots=6,  # which uSIDs take the plane; bit 0 is the first after the block
    uplink_slots=6,  # which uSID takes the uplink
    uplink_first=8,  # uplinks to choose from: the first,
    uplinks=8,  # and how many they are, at least 1
)

ROWS = {
    Table.QP: QP_ROW,
    Table.EV: EV_ROW,
    Table.REGION: REGION_ROW,
    Table.ROUTE: ROUTE_ROW,
    Table.PROFILE: PROFILE_ROW,
    Table.PEER: PEER_ROW,
}

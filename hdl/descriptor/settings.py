"""From host and MAC to everybody: settings, rows of tables, status pins. No logic."""

from amaranth.lib import data

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig

from .sizes import NOW_BITS, index_bits

__all__ = ["PCS_LANES", "LaneSettings", "MacStatus", "PortSettings", "Settings", "TableWrite"]

#: PCS lanes of a port of 100 Gb/s (IEEE 802.3, clause 82).
PCS_LANES = 20


class PortSettings(data.StructLayout):
    """What the host sets per port.

    Members
    -------
    enable : 1
        Administrative state; a port that is not enabled is down.
    own_mac, next_hop_mac : 48
        Addresses of this port and of the switch port at its other end.
    underlay : 128
        Source of the outer IPv6 header.
    usid : 16
        Own NIC uSID: the one after the block in frames for this port.
    link_local : 128
        Second address, besides ``underlay``, for which neighbours are answered.
    tags, outer_tag, inner_tag : 2, 16, 16
        VLAN tags in front of packets, 0 to 2, and their control information; a single tag is
        ``inner_tag``.
    pause : 1
        Pause and priority pause of the MAC are honoured.
    lock_lanes : 20
        PCS lanes whose block lock counts.
    loop_probes, loop_carrier : 1, 128
        The port comes up only after probes to the NIC itself have come back by it; destination of
        their outer header, 0 without one.
    """

    def __init__(self):
        super().__init__({
            "enable": 1,
            "own_mac": 48,
            "next_hop_mac": 48,
            "underlay": 128,
            "usid": 16,
            "link_local": 128,
            "tags": 2,
            "outer_tag": 16,
            "inner_tag": 16,
            "pause": 1,
            "lock_lanes": PCS_LANES,
            "loop_probes": 1,
            "loop_carrier": 128,
        })


class Settings(data.StructLayout):
    """What the host sets for the whole NIC; stable except for the cycle of a register write.

    Members
    -------
    loopback : 128
        The NIC's own address: source of inner IPv6 headers, and the only destination taken.
    loopback_ipv4 : 32
        The same for IPv4.
    neighbour_replies : 1
        Neighbour solicitations for a port's addresses are answered.
    pause_priority_control, pause_priority_data : 3
        Priority, in a priority pause, of packets in the role CONTROL and of all others.
    host_turns : 8
        The host's frames get a turn after so many packets, at the latest.
    block : 32
        Locator block of uSIDs.
    udp_port, udp_port_alternative : 16
        Destination port sent and accepted; second port accepted.
    swap_ev : 1
        EV[15:0] is in the source port and EV[31:16] in the flow label, instead of the reverse.
    hop_limit : 8
        Hop limit of both IPv6 headers.
    dscp : ``ArrayLayout(6, 6)``
        DSCP by :class:`~mrcnic.hdl.wire.opcodes.Role`.
    base_rtt, target_delay : 16
        In ticks of 128 ns.
    reorder_packets : 8
        A hole counts as lost only if a packet sent more than so many sends later has arrived.
    sack_threshold : 24
        A SACK goes out when more octets than these have arrived since the last one.
    flush_delay : 16
        A SACK goes out so many ticks after the last packet that none has reported.
    retire_delay, retire_delay_max : 24
        Ticks for which a bad EV is out of use: the first time, and at the most.
    retry_limit_off : 1
        QPs never fail by retries.
    hold_off : 32
        Ticks that a port's signs must have been good before it is up.
    port : ``ArrayLayout(PortSettings(), lanes)``
        Per port.
    probe_timeout : 24
        Ticks without an answer after which a probe counts as lost.
    probe_interval : 16
        Ticks between probes of bad EVs in a plane.
    error_limit, error_leak, error_weight : 24, 16, 8
        A port with so many errors in its bucket is degraded; ticks for each to leak out; what an
        uncorrected code word counts.
    degraded_down : 1
        A degraded port is down.
    link_inference : 1
        Links are inferred from losses, and masked.
    link_threshold : 3
        A link is masked at so many losses.
    link_window : 24
        Ticks after which a loss may be forgotten; after twice as many it is.
    rest_window : 24
        A plane rests for a remote NIC when three quarters of a QP's active EVs have failed within
        so many ticks; 0: never.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "loopback": 128,
            "loopback_ipv4": 32,
            "neighbour_replies": 1,
            "pause_priority_control": 3,
            "pause_priority_data": 3,
            "host_turns": 8,
            "block": 32,
            "udp_port": 16,
            "udp_port_alternative": 16,
            "swap_ev": 1,
            "hop_limit": 8,
            "dscp": data.ArrayLayout(6, 6),
            "base_rtt": 16,
            "target_delay": 16,
            "reorder_packets": 8,
            "sack_threshold": 24,
            "flush_delay": 16,
            "retire_delay": NOW_BITS,
            "retire_delay_max": NOW_BITS,
            "retry_limit_off": 1,
            "hold_off": 32,
            "port": data.ArrayLayout(PortSettings(), config.lanes),
            "probe_timeout": NOW_BITS,
            "probe_interval": 16,
            "error_limit": 24,
            "error_leak": 16,
            "error_weight": 8,
            "degraded_down": 1,
            "link_inference": 1,
            "link_threshold": 3,
            "link_window": NOW_BITS,
            "rest_window": NOW_BITS,
        })


class LaneSettings(data.StructLayout):
    """What of all settings concerns one port; the rooms of every port are alike.

    Members
    -------
    port : :class:`PortSettings`
        Those of the port.
    number : ``index_bits(lanes)``
        Which port it is.
    others
        All other members of :class:`Settings`.
    """

    def __init__(self, config: NicConfig):
        members = {name: field.shape for name, field in Settings(config)}
        super().__init__(members | {"port": PortSettings(), "number": index_bits(config.lanes)})


class TableWrite(data.StructLayout):
    """A row for a table. Each room takes every write and uses those that are for it.

    Members
    -------
    table : 4
        :class:`~mrcnic.hdl.rows.Table`.
    index : 16
        Row.
    row : 512
        Contents, least significant bits first; view with ``HeaderLayout(rows.QP_ROW)`` and so on.
    """

    def __init__(self):
        super().__init__({"table": 4, "index": 16, "row": rows.ROW_BITS})


class MacStatus(data.StructLayout):
    """Status pins of a MAC, as a hard MAC has them; asynchronous to the engine.

    Members
    -------
    aligned : 1
        Block lock on all lanes, and lanes aligned.
    local_fault, remote_fault : 1
        This end hears nothing of use; the other end says so of itself.
    hi_ber : 1
        High bit error ratio.
    heartbeat : 1
        Toggles for as long as the receive clock runs, at least once in 32 cycles of the engine.
        A MAC without one holds it constant.
    block_lock : 20
        Per PCS lane: block boundaries are found. A MAC that does not tell holds all of them set,
        as it does if there are fewer lanes, or lanes that RS-FEC keeps from being seen.
    fec_lock : 1
        The lanes of the RS-FEC are locked and aligned; set without RS-FEC.
    uncorrected : 1
        Changes with each RS-FEC code word that could not be corrected.
    symbol_errors : 4
        Counts errors corrected, in Gray code, by one at a time. It may lag behind a burst.
    """

    def __init__(self):
        super().__init__({
            "aligned": 1,
            "local_fault": 1,
            "remote_fault": 1,
            "hi_ber": 1,
            "heartbeat": 1,
            "block_lock": PCS_LANES,
            "fec_lock": 1,
            "uncorrected": 1,
            "symbol_errors": 4,
        })

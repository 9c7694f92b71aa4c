"""Registers that the host sees, in plain Python: gateware, driver and reference share the table."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from zlib import crc32

from mrcnic.hdl.config import TICK_NS, NicConfig, ticks
from mrcnic.hdl.rows import ROW_BITS, Table
from mrcnic.hdl.wire.opcodes import Dscp
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .register import Access, Field, Register

__all__ = [
    "ADDRESS_BITS",
    "COUNTERS",
    "MAGIC",
    "MAX_COUNTERS",
    "PORTS",
    "PORT_STATUS",
    "PORT_STRIDE",
    "SETTINGS",
    "SIZES",
    "VERSION",
    "names_checksum",
    "register_map",
    "row_counts",
]

#: Width of an address: the map takes 16 KiB.
ADDRESS_BITS = 14

#: "MRCN": the first word of the map.
MAGIC = 0x4D52434E

#: Of this map: changes that a driver must know of count up the upper half.
VERSION = 0x0001_0000

#: Where the blocks of the map begin.
SETTINGS, TABLES, PORTS, COUNTERS = 0x0100, 0x0200, 0x0400, 0x2000

#: Octets from the registers of a port to those of the next.
PORT_STRIDE = 0x80

#: Room for counters in the map.
MAX_COUNTERS = ((1 << ADDRESS_BITS) - COUNTERS) // 8

#: Live signs of a port, from bit 0 up.
PORT_STATUS = {
    "up": "Packets go out: the port is enabled, its signs are good, and have been for `hold_off`.",
    "link": "The MAC receives: lock, alignment, no local fault.",
    "remote": "The other end reports no fault.",
    "clock": "The receive clock is running.",
    "proven": "Probes have come back by the port, or none are asked for.",
    "degraded": "More errors than `error_limit` allows, and the bucket is not empty yet.",
}

#: Fields of :class:`~mrcnic.hdl.config.NicConfig` that can be read back, in this order.
SIZES = (
    "lanes", "beat_octets", "qps", "window", "evs", "profiles", "slots", "mtu", "regions",
    "send_queue", "immediates", "routes", "peers", "crossing", "uplinks",
)  # fmt: skip


def row_counts(config: NicConfig) -> dict[Table, int]:
    """Return the number of rows of each table."""
    return {
        Table.QP: config.qps,
        Table.EV: config.profiles * config.evs,
        Table.REGION: config.regions,
        Table.ROUTE: config.lanes * config.routes * SEGMENTS_MAX,
        Table.PROFILE: config.profiles,
        Table.PEER: config.peers,
    }


def names_checksum(event_names: Sequence[str]) -> int:
    """Return a checksum of counters' names, by which a driver knows that it has the right ones.

    Examples
    --------
    >>> names_checksum([])
    0
    """
    return crc32("\n".join(event_names).encode())


def _sequence(address: int, access: Access, *items) -> Iterator[Register]:
    """Give registers of one field each consecutive addresses."""
    for name, width, doc, reset in items:
        field = Field("value", width, doc, int(reset))
        register = Register(name, address, access, (field,), doc)
        yield register
        address += 4 * register.words


def _nearest(time_ns):
    return round(time_ns / TICK_NS)


def _sentence(text):
    return f"{text[0].upper()}{text[1:]}."


def _identification(config, event_names):
    meanings = {item.name: item.metadata["meaning"] for item in fields(config)}
    return _sequence(
        0,
        Access.R,
        ("magic", 32, "Always 0x4D52434E, which spells MRCN.", MAGIC),
        ("version", 32, "Version of this map. Drivers must know the upper half.", VERSION),
        *((name, 32, _sentence(meanings[name]), getattr(config, name)) for name in SIZES),
        ("counters", 16, "Number of counters.", len(event_names)),
        (
            "counter_names",
            32,
            "CRC-32 of the names of all counters, joined by line feeds.",
            names_checksum(event_names),
        ),
        ("now", 24, "Time, in ticks of 128 ns.", 0),
        ("occupied_slots", 16, "Payload slots in use by packets under way.", 0),
    )


def _settings():
    return _sequence(
        SETTINGS,
        Access.RW,
        (
            "loopback",
            128,
            "The NIC's own address: source of inner IPv6 headers, and the only destination taken.",
            0,
        ),
        ("loopback_ipv4", 32, "The same for IPv4.", 0),
        (
            "neighbour_replies",
            1,
            "Neighbour solicitations for `underlay` and `link_local` of a port are answered.",
            1,
        ),
        (
            "pause_priority_control",
            3,
            "Priority, in a priority pause, of packets in the role CONTROL.",
            6,
        ),
        ("pause_priority_data", 3, "Priority, in a priority pause, of all other packets.", 3),
        ("host_turns", 8, "The host's frames get a turn after so many packets.", 4),
        (
            "block",
            32,
            (
                "Locator block of uSIDs. A frame is for the NIC if its outer destination starts "
                "with this and the `usid` of the port; what follows those 48 bits is ignored."
            ),
            0xFCBB_BBBB,
        ),
        ("udp_port", 16, "UDP destination port sent and accepted.", 4791),
        ("udp_port_alternative", 16, "Second UDP destination port accepted.", 4971),
        (
            "swap_ev",
            1,
            (
                "EV[15:0] is in the source port and EV[31:16] in the flow label, instead of the "
                "reverse."
            ),
            0,
        ),
        ("hop_limit", 8, "Hop limit of both IPv6 headers.", 64),
        *(
            (f"dscp_{role.name.lower()}", 6, f"DSCP of packets in the role {role.name}.", role)
            for role in Dscp
        ),
        ("base_rtt", 16, "Round-trip time of the idle fabric, in ticks.", _nearest(12_000)),
        ("target_delay", 16, "Queueing delay to be aimed at, in ticks.", _nearest(9_000)),
        (
            "reorder_packets",
            8,
            (
                "A hole counts as lost only if a packet sent more than so many sends later has "
                "arrived."
            ),
            3,
        ),
        (
            "sack_threshold",
            24,
            "A SACK goes out when more octets than these have arrived since the last one.",
            16_384,
        ),
        (
            "flush_delay",
            16,
            "A SACK goes out so many ticks after the last packet that none has reported.",
            ticks(2_000),
        ),
        ("retire_delay", 24, "Ticks a bad EV is out of use, the first time.", ticks(100_000)),
        ("retire_delay_max", 24, "Ticks a bad EV is out of use, at most.", ticks(10_000_000)),
        ("retry_limit_off", 1, "QPs never fail by retries.", 0),
        (
            "hold_off",
            32,
            "Ticks that the signs of a port must have been good before it is up.",
            ticks(10_000_000),
        ),
        (
            "probe_timeout",
            24,
            "Ticks without an answer after which a probe counts as lost.",
            ticks(65_536),
        ),
        ("probe_interval", 16, "Ticks between probes of bad EVs in a plane.", ticks(10_000)),
        (
            "error_limit",
            24,
            "A port with so many errors in its bucket is degraded, until that is empty; 0: never.",
            4170,
        ),
        ("error_leak", 16, "The bucket loses an error each so many ticks, at least 1.", 8),
        ("error_weight", 8, "As so many errors an uncorrected RS-FEC code word counts.", 64),
        ("degraded_down", 1, "A degraded port is down.", 0),
        (
            "link_inference",
            1,
            (
                "Links are inferred from losses: EVs that take a link that seems dead are not "
                "picked until probes have come back by it. Remote NICs must be known (PEER)."
            ),
            0,
        ),
        ("link_threshold", 3, "A link is masked at so many losses, at least 1.", 3),
        (
            "link_window",
            24,
            "A loss is forgotten one to two times so many ticks after the last one on its link.",
            ticks(1_000_000),
        ),
        (
            "rest_window",
            24,
            (
                "A plane rests for a remote NIC when three quarters of a QP's active EVs have "
                "failed there within so many ticks, until probes have come back; 0: never."
            ),
            ticks(1_000_000),
        ),
    )


def _tables():
    yield from _sequence(
        TABLES,
        Access.RW,
        ("table_select", 4, "Table: 0 QP, 1 EV, 2 REGION, 3 ROUTE, 5 PEER.", 0),
        (
            "table_index",
            16,
            (
                "Row. QP: QPN modulo `qps`. EV: profile * `evs` + EV index. REGION: rkey modulo "
                "`regions`. ROUTE: (port * `routes` + route) * 8 + segment. PEER: `peer` of QPs."
            ),
            0,
        ),
    )
    yield Register(
        "table_control",
        TABLES + 0x08,
        Access.W1S,
        (Field("write", 1, "Write `table_data` to the row. Reads 1 until every room took it."),),
        "What to do with the row that `table_select` and `table_index` name.",
    )
    yield Register(
        "table_status",
        TABLES + 0x0C,
        Access.R,
        (
            Field("busy", 1, "A row is being written, or rows are cleared after reset.", 1),
            Field("done", 1, "A write has been done since the last one was asked for."),
            Field(
                "refused",
                1,
                "The last write is not done: there is no such table or row, or `busy` was set.",
            ),
        ),
        "How the last write ended.",
    )
    yield from _sequence(
        TABLES + 0x40,
        Access.RW,
        ("table_data", ROW_BITS, "Row to be written.", 0),
    )
    yield from _sequence(
        TABLES + 0x80,
        Access.R,
        (
            "table_row",
            ROW_BITS,
            (
                "The row that `table_select` and `table_index` name, as it was written; zero if it "
                "never was."
            ),
            0,
        ),
    )


def _port(port):
    address = PORTS + port * PORT_STRIDE
    prefix = f"port{port}_"
    yield from _sequence(
        address,
        Access.RW,
        (f"{prefix}enable", 1, "Packets may go out. Looked at between packets only.", 0),
        (f"{prefix}usid", 16, "Own uSID: the one after the block in frames for this port.", 0),
        (f"{prefix}own_mac", 48, "MAC address of this port.", 0),
        (f"{prefix}next_hop_mac", 48, "MAC address of the switch port at the other end.", 0),
        (f"{prefix}underlay", 128, "Source of the outer IPv6 header.", 0),
        (f"{prefix}link_local", 128, "Second address that neighbours are answered for.", 0),
        (f"{prefix}tags", 2, "VLAN tags in front of packets, 0 to 2.", 0),
        (f"{prefix}outer_tag", 16, "Control information of the outer one of two tags.", 0),
        (f"{prefix}inner_tag", 16, "Control information of the inner or only tag.", 0),
        (f"{prefix}pause", 1, "Pause and priority pause of the MAC are honoured.", 0),
        (f"{prefix}lock_lanes", 20, "PCS lanes whose block lock counts.", (1 << 20) - 1),
        (
            f"{prefix}loop_probes",
            1,
            "The port comes up only after three probes to the NIC itself have come back by it.",
            0,
        ),
        (
            f"{prefix}loop_carrier",
            128,
            "Destination of the outer header of these probes; 0: they have none.",
            0,
        ),
    )
    signs = tuple(Field(name, 1, doc) for name, doc in PORT_STATUS.items())
    for place, name, access, doc in (
        (0x60, "status", Access.R, "Signs of the port as they are now."),
        (0x64, "status_rose", Access.RW1C, "Signs that have become set since they were cleared."),
        (0x68, "status_fell", Access.RW1C, "Signs that have become clear since."),
    ):
        yield Register(f"{prefix}{name}", address + place, access, signs, doc)


def _counters(event_names):
    return _sequence(
        COUNTERS,
        Access.R,
        *((f"count_{name}", 64, f"How often `{name}` has happened.", 0) for name in event_names),
    )


def register_map(config: NicConfig, event_names: Sequence[str] = ()) -> tuple[Register, ...]:
    """Return all registers of a NIC, by address.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    event_names : sequence of :class:`str`
        Names of the counters.

    Raises
    ------
    ValueError
        If there are too many counters, or a name is there twice.
    """
    if len(event_names) > MAX_COUNTERS:
        raise ValueError(
            f"there is room for {MAX_COUNTERS} counters in the register map, not {len(event_names)}"
        )
    if len(set(event_names)) != len(event_names):
        raise ValueError("the name of a counter is there twice")
    return (
        *_identification(config, event_names),
        *_settings(),
        *_tables(),
        *(register for port in range(config.lanes) for register in _port(port)),
        *_counters(event_names),
    )

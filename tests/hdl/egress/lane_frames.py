"""Descriptors and the frames that they ask for, without the gateware's help."""

from ipaddress import IPv6Address

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings, TableWrite
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Opcode

A = 0xFD000000000000010000000000000001
B = 0xFD000000000000020000000000000001
UNDERLAY = 0xFD000001000000000000000000000001
CARRIER = 0xFCBBBBBB2401280124022C0500000000
NEXT_HOP_MAC = 0x02AABBCCDD01
OWN_MAC = 0x02AABBCCDD02
TIMESTAMP = 0x1234

SETTINGS = {
    "loopback": A,
    "loopback_ipv4": 0x0A010203,
    "udp_port": 4791,
    "hop_limit": 64,
    "dscp": [46, 8, 10, 0, 16, 18],
    "port": {"own_mac": OWN_MAC, "next_hop_mac": NEXT_HOP_MAC, "underlay": UNDERLAY},
}

#: The protocol's vectors, from the inner IPv6 header on: descriptor, payload, time, packet.
V1 = (
    {
        "opcode": 0xCB, "role": 1, "ev": 0xC0052010, "dqp": 0x12, "psn": 0x105, "ack_request": 1,
        "destination": B,
        "body": {
            "write": {
                "meth": {"rqmsn": 7, "msn": 0x21},
                "reth": {"va": 0x7F0012345000, "rkey": 0xDEADBEEF, "dmalen": 16},
                "immediate": 0xCAFEF00D,
            }
        },
    },
    bytes(range(16)),
    0x1234,
    ("6220201000441140fd000000000000010000000000000001fd000000000000020000000000000001c00512b70044"
     "0000cb00ffff0000001290000105000700211234000100007f0012345000deadbeef00000010cafef00d00010203"
     "0405060708090a0b0c0d0e0fcf7ec91e"),
)  # fmt: skip
V2 = (
    {
        "opcode": 0xDC, "role": 0, "ev": 0xC0812040, "dqp": 0x34, "psn": 0x102, "destination": A,
        "body": {
            "sack": {
                "seth": {
                    "mark": 1, "ack_psn_offset": 3, "entropy": 0xC0052010, "spdcid": 0x12,
                    "dpdcid": 0x34, "cack_psn": 0x102, "sack_offset": 1, "sack_bitmap": 0b110,
                },
                "cc_state": {"tx_timestamp": 0x1234, "ooo_count": 2, "rcvd_bytes": 0x21},
            }
        },
    },
    b"",
    0,
    ("6ba02040003c1140fd000000000000020000000000000001fd000000000000010000000000000001c08112b7003c"
     "0000dc00ffff000000340000010200200003c0052010001200340000010200000001000000000000000612340002"
     "000000211aff26c6"),
)  # fmt: skip
V3 = (
    {
        "opcode": 0xDD, "role": 0, "ev": 0xC0812040, "dqp": 0x34, "psn": 0x105, "destination": A,
        "body": {
            "nack": {
                "reason": 1, "entropy": 0xC0052010, "spdcid": 0x12, "dpdcid": 0x34,
                "nack_psn": 0x105, "cc_type": 2, "tx_timestamp": 0x1234,
            }
        },
    },
    b"",
    0,
    ("6ba02040002c1140fd000000000000020000000000000001fd000000000000010000000000000001c08112b7002c"
     "0000dd00ffff000000340000010500000100c00520100012003400000105200012344c6fc523"),
)  # fmt: skip
V4 = (
    {
        "opcode": 0xDE, "role": 3, "ev": 0xC0052010, "dqp": 0x12, "psn": 0, "destination": B,
        "body": {"probe": {"probe_id": 0x77, "spdcid": 0x34, "dpdcid": 0x12}},
    },
    b"",
    0x1300,
    ("6020201000281140fd000000000000010000000000000001fd000000000000020000000000000001c00512b70028"
     "0000de00ffff000000120000000000000000007700000034001213000001204fc155"),
)  # fmt: skip
V7 = (
    {
        "opcode": 0xD1, "role": 0, "ev": 0xC0812040, "dqp": 0x34, "psn": 0x105, "destination": A,
        "body": {"ack": {"syndrome": 0x1F, "msn": 0x22}},
    },
    b"",
    0,
    ("6ba02040001c1140fd000000000000020000000000000001fd000000000000010000000000000001c08112b7001c"
     "0000d100ffff00000034000001051f000022969e32da"),
)  # fmt: skip
V5 = (
    {
        "opcode": 0xD8, "role": 0, "ev": 0xC0052010, "dqp": 2, "psn": 9, "destination": B,
        "body": {"request": {"port_status_mask": 0xFB}},
    },
    b"",
    0x1400,
    ("6ba0201000281140fd000000000000010000000000000001fd000000000000020000000000000001c00512b7002800"
     "00d800ffff000000020000000900000000000000fb000000001400000172b04e62"),
)  # fmt: skip
V6 = (
    {
        "opcode": 0xD9, "role": 0, "ev": 0xC0812040, "dqp": 2, "psn": 9, "destination": A,
        "body": {"response": {"tx_timestamp": 0x1400}},
    },
    b"",
    0,
    ("6ba02040003c1140fd000000000000020000000000000001fd000000000000010000000000000001c08112b7003c00"
     "00d900ffff000000020000000900000000000000000000000000000000000000000000000000000000140000000000"
     "00008e0799c6"),
)  # fmt: skip
#: What goes before V1 in the vector V8.
V8_OUTER = "62200000006c2940fd000001000000000000000000000001fcbbbbbb2401280124022c0500000000"

#: Another write, with documentation addresses.
D1_SOURCE, D1_DESTINATION = 0x20010DB8000A0000 << 64 | 1, 0x20010DB8000B0000 << 64 | 1
D1 = (
    {
        "opcode": 0xCA, "role": 1, "ev": 0xC0052010, "dqp": 0x12, "psn": 0x105, "ack_request": 1,
        "destination": D1_DESTINATION,
        "body": {
            "write": {
                "meth": {"msn": 0x21},
                "reth": {"va": 0x100000, "rkey": 0x0BADCAFE, "dmalen": 16},
            }
        },
    },
    bytes(range(0x10, 0x20)),
    0x1234,
    ("622020100040114020010db8000a0000000000000000000120010db8000b00000000000000000001c00512b70040"
     "0000ca00ffff0000001290000105000000211234000100000000001000000badcafe000000101011121314151617"
     "18191a1b1c1d1e1ff3bd28cf"),
)  # fmt: skip

ETHERNET = headers.ETHERNET.pack(destination=NEXT_HOP_MAC, source=OWN_MAC, ether_type=0x86DD)

TIMESTAMPED = {0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB}


def settings(config, *, port=(), number=0, **changes):
    port = {**SETTINGS["port"], **dict(port)}
    values = {**SETTINGS, "port": port, "number": number, **changes}
    return LaneSettings(config).const(values)


def descriptor(config, fields, *, octets, slot=0):
    return TxDescriptor(config).const({**fields, "octets": octets, "slot": slot})


def write(rng, *, opcode=None, srv6=True):
    """Return a random write."""
    return {
        "opcode": opcode or rng.randint(Opcode.WRITE_FIRST, Opcode.WRITE_ONLY_IMM),
        "psn": rng.getrandbits(24),
        "ack_request": rng.getrandbits(1),
        "retransmission": rng.getrandbits(1),
        "role": rng.randrange(4),
        "dqp": rng.getrandbits(24),
        "ev": rng.getrandbits(32),
        "destination": rng.getrandbits(128),
        "srv6": srv6,
        "carrier": rng.getrandbits(128),
        "body": {
            "write": {
                "meth": {"rqmsn": rng.getrandbits(16), "msn": rng.getrandbits(16)},
                "reth": {
                    "va": rng.getrandbits(64),
                    "rkey": rng.getrandbits(32),
                    "dmalen": rng.getrandbits(32),
                },
                "immediate": rng.getrandbits(32),
            }
        },
    }


def extension(fields, timestamp):
    opcode = fields["opcode"]
    ((_, body),) = fields["body"].items()
    if opcode in TIMESTAMPED:
        octets = headers.METH.pack(**body["meth"])
        octets += headers.TSETH.pack(tx_timestamp=timestamp, ftype=1)
        octets += headers.RETH.pack(**body["reth"])
        if opcode in (0xC9, 0xCB):
            octets += headers.IMMDT.pack(immediate=body["immediate"])
        return octets
    if opcode == 0xDC:
        return headers.SETH.pack(**body["seth"]) + headers.CC_STATE.pack(**body["cc_state"])
    if opcode == 0xDD:
        return headers.NETH.pack(**body)
    if opcode == 0xDE:
        return headers.PETH.pack(**{**body, "tx_timestamp": timestamp, "ftype": 1})
    if opcode == 0xD8:
        return headers.ERTH.pack(**{**body, "tx_timestamp": timestamp, "ftype": 1})
    if opcode == 0xD9:
        return headers.EETH.pack(**body)
    return headers.AETH.pack(**body)


def frame(fields, payload, timestamp=TIMESTAMP, *, routes=(), **changes):
    """Return the frame that a lane with ``SETTINGS`` and changes makes, put together by scapy."""
    setting = {**SETTINGS, **changes}
    port = {**SETTINGS["port"], **dict(changes.get("port", ()))}
    entropy = fields["ev"]
    rest = extension(fields, timestamp) + payload + bytes(-len(payload) % 4)
    bth = headers.BTH.pack(
        opcode=fields["opcode"],
        pad=-len(payload) % 4,
        p_key=0xFFFF,
        dqp=fields["dqp"],
        ack_request=fields.get("ack_request", 0),
        retransmission=fields.get("retransmission", 0),
        timestamped=fields["opcode"] in TIMESTAMPED,
        psn=fields["psn"],
    )
    length = 8 + len(bth + rest) + 4
    tc = setting["dscp"][fields["role"]] << 2 | 2
    udp = UDP(sport=entropy >> 16, dport=setting["udp_port"], len=length, chksum=0)
    common = {"tc": tc, "hlim": setting["hop_limit"]}
    destination = fields["destination"]
    if fields.get("ipv4"):
        ip = IP(
            tos=tc, len=20 + length, id=0, flags="DF", ttl=setting["hop_limit"], proto=17,
            src=setting["loopback_ipv4"], dst=destination % 2**32,
        )  # fmt: skip
    else:
        source, destination = _ipv6(setting["loopback"]), _ipv6(destination)
        ip = IPv6(**common, fl=entropy & 0xFFFF, plen=length, nh=17, src=source, dst=destination)
    inner = bytes(ip / udp / Raw(bth + rest))
    packet = Raw(inner + icrc(inner))
    if fields.get("srv6"):
        packet = _encapsulated(packet, fields, {**common, "src": _ipv6(port["underlay"])}, routes)
    kind = 0x0800 if fields.get("ipv4") and not fields.get("srv6") else 0x86DD
    for n in range(port.get("tags", 0)):
        tag = port["outer_tag" if n else "inner_tag"]
        tagged = (Dot1AD if n else Dot1Q)(
            prio=tag >> 13, dei=tag >> 12 & 1, vlan=tag % 0x1000, type=kind
        )
        packet, kind = tagged / packet, (0x88A8 if n else 0x8100)
    addresses = {"dst": _mac(port["next_hop_mac"]), "src": _mac(port["own_mac"])}
    return bytes(Ether(**addresses, type=kind) / packet)


def _encapsulated(packet, fields, common, routes):
    inner_next = 4 if fields.get("ipv4") else 41
    carrier, count = _ipv6(fields["carrier"]), fields.get("segments", 0)
    path = [carrier]
    if count > 1:
        path += [_ipv6(segment) for segment in routes[fields.get("route", 0)][: count - 1]]
    listed = path[::-1][: count - fields.get("reduced", 0)] if not fields.get("ipv4") else []
    if not listed:
        return IPv6(**common, plen=len(packet), nh=inner_next, dst=carrier) / packet
    routing = IPv6ExtHdrSegmentRouting(
        nh=inner_next, addresses=listed, segleft=count - 1, lastentry=len(listed) - 1
    )
    length = len(routing / packet)
    return IPv6(**common, plen=length, nh=43, dst=carrier) / routing / packet


def _ipv6(number):
    return str(IPv6Address(number))


def _mac(number):
    return number.to_bytes(6, "big").hex(":")


def route_rows(config, routes, *, port=0):
    """Return writes of a table, which put lists of further segments there."""
    layout = TableWrite()
    return [
        layout.const({
            "table": Table.ROUTE,
            "index": (port * config.routes + route) * 8 + number,
            "row": segment,
        })
        for route, segments in enumerate(routes)
        for number, segment in enumerate(segments, start=1)
    ]


def random_format(rng, config):
    """Return fields that say how a packet travels, of any format there is."""
    srv6 = rng.getrandbits(1)
    ipv4 = rng.random() < 0.3
    segments = rng.randint(0, 8) if config.routes else 0
    return {
        "ipv4": ipv4,
        "srv6": srv6,
        "segments": segments,
        "reduced": rng.getrandbits(1),
        "route": rng.randrange(max(1, config.routes)),
    }


def random_routes(rng, config):
    return [[rng.getrandbits(128) for _ in range(7)] for _ in range(config.routes)]


def random_port(rng, tags):
    return {"tags": tags, "outer_tag": rng.getrandbits(16), "inner_tag": rng.getrandbits(16)}

"""Descriptors and the frames that they ask for, without the gateware's help."""

from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import Settings
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
    "udp_port": 4791,
    "hop_limit": 64,
    "dscp": [46, 8, 10, 0, 16, 18],
    "port": [{"own_mac": OWN_MAC, "next_hop_mac": NEXT_HOP_MAC, "underlay": UNDERLAY}],
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


def settings(config, **changes):
    values = {**SETTINGS, "port": SETTINGS["port"] * config.lanes, **changes}
    return Settings(config).const(values)


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
    return headers.AETH.pack(**body)


def frame(fields, payload, timestamp=TIMESTAMP):
    """Return the frame that a lane with ``SETTINGS`` makes."""
    pad = -len(payload) % 4
    rest = extension(fields, timestamp) + payload + bytes(pad)
    length = 8 + 12 + len(rest) + 4
    entropy = fields["ev"]
    common = {"version": 6, "dscp": SETTINGS["dscp"][fields["role"]], "ecn": 2, "hop_limit": 64}
    inner = headers.IPV6.pack(
        **common,
        flow_label=entropy & 0xFFFF,
        payload_length=length,
        next_header=17,
        source=A,
        destination=fields["destination"],
    )
    inner += headers.UDP.pack(source_port=entropy >> 16, destination_port=4791, length=length)
    inner += headers.BTH.pack(
        opcode=fields["opcode"],
        pad=pad,
        p_key=0xFFFF,
        dqp=fields["dqp"],
        ack_request=fields.get("ack_request", 0),
        retransmission=fields.get("retransmission", 0),
        timestamped=fields["opcode"] in TIMESTAMPED,
        psn=fields["psn"],
    )
    inner += rest
    inner += icrc(inner)
    if fields.get("srv6"):
        outer = headers.IPV6.pack(
            **common,
            payload_length=len(inner),
            next_header=41,
            source=UNDERLAY,
            destination=fields["carrier"],
        )
        return ETHERNET + outer + inner
    return ETHERNET + inner

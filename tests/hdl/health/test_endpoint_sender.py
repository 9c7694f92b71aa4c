"""Endpoint packets get a path, and the fields of the vectors."""

from collections import Counter

from peer_rows import ADDRESSES, CARRIER, peer_fields

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.endpoint_sender import EndpointSender
from mrcnic.hdl.health.links import Operation
from mrcnic.hdl.wire.headers import BTH, EETH, ERTH
from mrcnic.hdl.wire.opcodes import Opcode, Role
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=2, peers=8)
OWN = 0xFD00_0000_0000_0001 << 64 | 1

#: V5 and V6 of docs/protocol.md, from the BTH on, without ICRC.
V5 = bytes.fromhex("d800ffff0000000200000009" + "00000000000000fb0000000014000001")
V6 = bytes.fromhex("d900ffff0000000200000009" + "00" * 28 + "1400" + "00" * 6)


def run(bench, **row):
    dut = EndpointSender(CONFIG)

    async def whole(ctx):
        ctx.set(dut.settings.loopback, OWN)
        ctx.set(dut.settings.port[1].loop_carrier, CARRIER | 1)
        ctx.set(dut.write, {"valid": 1, "peer": 3, "row": peer_fields(3, **row)})
        await ctx.tick()
        ctx.set(dut.write.valid, 0)
        await bench(ctx, dut)

    simulate(dut, whole)


async def send(ctx, dut, **fields):
    """Send a packet; return port and descriptor."""
    ctx.set(dut.i.payload, {"peer": 3} | fields)
    ctx.set(dut.i.valid, 1)
    await ctx.tick().until(dut.i.ready)
    ctx.set(dut.i.valid, 0)
    for _ in range(3):
        assert not any(ctx.get(port.valid) for port in dut.o)
        await ctx.tick()
    (lane,) = [p for p, port in enumerate(dut.o) if ctx.get(port.valid)]
    descriptor = ctx.get(dut.o[lane].payload)
    await ctx.tick()  # what is offered stays
    assert ctx.get(dut.o[lane].payload).as_bits() == descriptor.as_bits()
    ctx.set(dut.o[lane].ready, 1)
    await ctx.tick()
    ctx.set(dut.o[lane].ready, 0)
    assert not any(ctx.get(port.valid) for port in dut.o)
    return lane, descriptor


def packed(descriptor):
    """BTH and what follows of an endpoint packet, as its lane writes it."""
    request = descriptor.opcode == Opcode.ENDPOINT_REQUEST
    header, body = (ERTH, descriptor.body.request) if request else (EETH, descriptor.body.response)
    fields = {name: getattr(body, name) for name in header.fields}
    if request:
        fields |= {"tx_timestamp": 0x1400, "ftype": 1}  # filled in by the lane
    bth = BTH.pack(opcode=descriptor.opcode, p_key=0xFFFF, dqp=descriptor.dqp, psn=descriptor.psn)
    return bth + header.pack(**fields)


def test_fields_of_the_vectors():
    async def bench(ctx, dut):
        lane, request = await send(
            ctx, dut, plane=1, identifier=9, mask=0b11, operation=Operation.PORT_STATUS
        )
        assert lane == 1
        assert packed(request) == V5.replace(b"\xfb", b"\x03")
        assert request.role == Role.CONTROL
        assert request.destination == ADDRESSES[3]
        assert request.octets == request.ack_request == request.retransmission == 0
        lane, response = await send(
            ctx, dut, plane=0, identifier=9, response=1, tx_timestamp=0x1400
        )
        assert lane == 0
        assert packed(response) == V6
        _, probe = await send(ctx, dut, identifier=1, operation=Operation.PROBE)
        assert probe.body.request.operation == 1

    run(bench)


def test_every_packet_takes_an_uplink_by_chance():
    async def bench(ctx, dut):
        uplinks = Counter()
        for n in range(80):
            plane = n % 2
            lane, packet = await send(ctx, dut, plane=plane)
            assert lane == plane
            assert packet.srv6
            uplink = packet.ev >> 4 & 0xFF
            assert packet.ev >> 24 == 0xC0
            assert packet.ev & 0xF00F == plane << 12
            slots = plane * 0x1000_1000_1000_1000 << 32 | uplink << 64
            assert packet.carrier == CARRIER | slots
            uplinks[uplink] += 1
        assert set(uplinks) == {1, 2, 3, 4}
        assert min(uplinks.values()) >= 8

    run(bench)


def test_a_given_ev_is_taken_as_it_is():
    async def bench(ctx, dut):
        _, packet = await send(ctx, dut, plane=1, fixed=1, ev=0xC0051030)
        assert packet.ev == 0xC0051030
        assert packet.carrier == 0xFCBB_BBBB_1401_1803_1402_1C05_0000_0000

    run(bench)


def test_without_srv6_and_with_ipv4_and_segments():
    async def bench(ctx, dut):
        _, packet = await send(ctx, dut)
        assert (packet.srv6, packet.ipv4, packet.segments) == (0, 1, 3)
        assert (packet.reduced, packet.route) == (1, 2)
        assert packet.destination == 0x0A000005

    run(bench, srv6=0, ipv4=1, segments=3, reduced=1, route=2, address=0x0A000005)


def test_packets_to_the_nic_itself():
    async def bench(ctx, dut):
        lane, packet = await send(ctx, dut, own=1, plane=1, identifier=0x1005)
        assert lane == 1
        assert (packet.destination, packet.srv6, packet.carrier) == (OWN, 1, CARRIER | 1)
        assert (packet.ipv4, packet.segments) == (0, 0)
        _, packet = await send(ctx, dut, own=1, plane=0)
        assert (packet.destination, packet.srv6) == (OWN, 0)  # the port has no carrier

    run(bench, ipv4=1, segments=3)

from itertools import pairwise

from requester_bench import REQUEST, TINY, Bench, ticks

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.wire.opcodes import Opcode, Role


def lengths_of(octets, *, config=TINY, mtu_code=0, cycles=60, **request):
    bench = Bench(config)

    async def scenario(ctx):
        await bench.open(ctx, 1, mtu_code=mtu_code)
        bench.request(1, octets=octets, **request)
        await ticks(ctx, cycles)

    bench.run(scenario)
    return bench


LENGTHS = {
    1: [1],
    255: [255],
    256: [256],
    257: [256, 1],
    511: [256, 255],
    512: [256, 256],
    513: [256, 256, 1],
}


def test_lengths():
    """The last packet has what is left, never nothing."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0, 1)
        for n, octets in enumerate(LENGTHS):
            bench.request(n % 2, octets=octets, remote_address=0x100003, local_address=0x77)
        await ticks(ctx, 80)

    bench.run(scenario)
    for octets, lengths in LENGTHS.items():
        packets = [p for p in bench.payloads("allocate") if p.body.reth.dmalen == octets]
        assert [packet.octets for packet in packets] == lengths
        offsets = [256 * n for n in range(len(lengths))]
        assert [packet.body.reth.va - 0x100003 for packet in packets] == offsets
        assert [packet.local_address - 0x77 for packet in packets] == offsets
        assert [packet.ack_request for packet in packets] == [0] * (len(lengths) - 1) + [1]
    for qp in range(2):
        psns = [packet.psn for packet in bench.payloads("allocate") if packet.qp == qp]
        assert psns == list(range(0x100, 0x100 + len(psns)))


def test_64_kib_are_16_packets_of_4096():
    config = TINY.override(mtu=4096)
    packets = lengths_of(65536, config=config, mtu_code=4, cycles=100).payloads("allocate")
    assert [packet.octets for packet in packets] == [4096] * 16
    assert {packet.body.reth.dmalen for packet in packets} == {65536}


def test_the_longest_message():
    """All 32 bits of the length count; with a small MTU it has too many packets."""
    config = TINY.override(mtu=4096)
    bench = lengths_of(2**32 - 1, config=config, mtu_code=2)
    assert bench.payloads("allocate")[0].body.reth.dmalen == 0xFFFFFFFF
    assert bench.payloads("allocate")[0].octets == 1024
    assert not bench.payloads("o")


def test_half_of_the_psns_are_too_many():
    bench = Bench()
    most = 2**23 - 1
    sizes = [most * 256, most * 256 + 1, most * 512, most * 512 + 1]

    async def scenario(ctx):
        await bench.open(ctx, 0, 1, mtu_code=0)
        await bench.open(ctx, 2, 3, mtu_code=1)
        for qp, octets in enumerate(sizes):
            bench.request(qp, octets=octets)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert {end.qp: end.status for end in bench.payloads("o")} == {
        1: Status.REFUSED,
        3: Status.REFUSED,
    }
    assert {packet.qp for packet in bench.payloads("allocate")} == {0, 2}


def test_the_mtu_is_at_most_a_slot():
    packets = lengths_of(2048, mtu_code=7).payloads("allocate")
    assert [packet.octets for packet in packets] == [1024, 1024]


def test_opcodes_and_numbers():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 2, tx_psn=0xFFFFFE, trim_nack=0)
        bench.request(2, octets=10, with_immediate=1, immediate=0xCAFEF00D)
        bench.request(2, octets=600)
        bench.request(2, octets=600, with_immediate=1)
        bench.request(2, octets=256)
        await ticks(ctx, 60)

    bench.run(scenario)
    packets = bench.payloads("allocate")
    assert [Opcode(packet.opcode) for packet in packets] == [
        Opcode.WRITE_ONLY_IMM,
        Opcode.WRITE_FIRST,
        Opcode.WRITE_MIDDLE,
        Opcode.WRITE_LAST,
        Opcode.WRITE_FIRST,
        Opcode.WRITE_MIDDLE,
        Opcode.WRITE_LAST_IMM,
        Opcode.WRITE_ONLY,
    ]
    assert [packet.psn for packet in packets] == [0xFFFFFE, 0xFFFFFF, 0, 1, 2, 3, 4, 5]
    assert [packet.body.meth.msn for packet in packets] == [0, 1, 1, 1, 2, 2, 2, 3]
    assert [packet.body.meth.rqmsn for packet in packets] == [0, 0, 0, 0, 1, 1, 1, 0]
    assert packets[0].body.immediate == 0xCAFEF00D
    assert packets[0].body.reth.rkey == REQUEST["rkey"]
    assert {packet.role for packet in packets} == {Role.NO_TRIM}


def test_nothing_is_refused_out_of_order():
    """An empty request has no packet and no PSN, and waits for those before it."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0)
        bench.request(0, identifier=1)
        bench.request(0, identifier=2, octets=0)
        bench.request(0, identifier=3)
        await ticks(ctx, 40)
        assert not bench.payloads("o")
        bench.ack(0, 2)
        await ticks(ctx, 40)
        bench.request(0, identifier=4, octets=0)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert [packet.psn for packet in bench.payloads("allocate")] == [0x100, 0x101]
    assert [(end.identifier, end.status) for end in bench.payloads("o")] == [
        (1, Status.OK),
        (2, Status.REFUSED),
        (3, Status.OK),
        (4, Status.REFUSED),
    ]


def test_latency_of_an_idle_requester():
    for config in (TINY, PRESETS["sim"]):
        bench = Bench(config)

        async def scenario(ctx, bench=bench):
            await bench.open(ctx, 1)
            for _ in range(3):
                await ticks(ctx, 20)
                bench.request(1)
            await ticks(ctx, 20)

        bench.run(scenario)
        # Offered one cycle before it was taken; its packet is taken as soon as it is offered.
        delays = [
            packet - (taken - 1)
            for taken, packet in zip(bench.taken["i"], bench.cycles("allocate"), strict=True)
        ]
        assert delays == [5, 5, 5]


def gaps(cycles):
    return [after - before for before, after in pairwise(cycles)]


def test_a_packet_in_3_cycles_on_one_qp():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        bench.request(1, octets=20 * 256)
        await ticks(ctx, 100)

    bench.run(scenario)
    assert gaps(bench.cycles("allocate")) == [3] * 19


def test_a_packet_in_3_cycles_of_small_messages():
    """Four QPs, four requests each: all in turn."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0, 1, 2, 3)
        ctx.set(bench.dut.allocate.ready, 0)
        for _ in range(4):
            for qp in range(4):
                bench.request(qp)
        await ticks(ctx, 60)
        ctx.set(bench.dut.allocate.ready, 1)
        await ticks(ctx, 60)

    bench.run(scenario)
    packets = bench.payloads("allocate")
    assert len(packets) == 16
    assert gaps(bench.cycles("allocate"))[1:] == [3] * 14
    assert gaps(bench.taken["i"]) == [2] * 15
    for start in range(1, 12, 4):  # fair: each QP once in four
        assert {packet.qp for packet in packets[start : start + 4]} == {0, 1, 2, 3}


def test_a_full_ring_makes_the_input_wait():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0, 1)
        for n in range(TINY.send_queue + 1):
            bench.request(0, identifier=n)
        await ticks(ctx, 60)
        assert len(bench.taken["i"]) == TINY.send_queue
        bench.ack(0, 1)
        await ticks(ctx, 30)
        assert len(bench.taken["i"]) == TINY.send_queue + 1

    bench.run(scenario)
    assert [end.identifier for end in bench.payloads("o")] == [0]

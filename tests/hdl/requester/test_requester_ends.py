from itertools import pairwise

import pytest
from requester_bench import TINY, Bench, ticks

from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.opcodes import Opcode, Role


def ends(bench, qp=1):
    return [(end.identifier, end.status) for end in bench.payloads("o") if end.qp == qp]


def test_a_qp_that_does_not_exist_refuses():
    bench = Bench()

    async def scenario(ctx):
        for n in range(6):  # more than a ring holds
            bench.request(1, identifier=n)
        await ticks(ctx, 80)

    bench.run(scenario)
    assert ends(bench) == [(n, Status.REFUSED) for n in range(6)]
    assert not bench.payloads("allocate")


@pytest.mark.parametrize("acked", [0, 1])
def test_failure_of_a_qp(acked):
    """The oldest request has the cause; those that were acknowledged before end well."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        await bench.open(ctx, 2)
        bench.request(1, identifier=0)
        bench.request(1, identifier=1, octets=10 * 256)
        bench.request(1, identifier=2, octets=0)
        bench.request(1, identifier=3)
        bench.request(2, identifier=9)
        await ticks(ctx, 25)
        if acked:
            bench.ack(1, 1)
        bench.fail(1, Status.RETRY_EXCEEDED)
        await ticks(ctx, 60)
        packets = len(bench.payloads("allocate"))
        for n in range(4, 8):
            bench.request(1, identifier=n, octets=0 if n == 5 else 16)
        bench.request(2, identifier=10)
        bench.ack(2, 2)
        await ticks(ctx, 60)
        assert [p.qp for p in bench.payloads("allocate")[packets:]] == [2]

    bench.run(scenario)
    first = [(0, Status.RETRY_EXCEEDED), (1, Status.FLUSHED)]
    if acked:
        first = [(0, Status.OK), (1, Status.RETRY_EXCEEDED)]
    assert ends(bench) == [
        *first,
        (2, Status.REFUSED),
        (3, Status.FLUSHED),
        (4, Status.FLUSHED),
        (5, Status.REFUSED),
        (6, Status.FLUSHED),
        (7, Status.FLUSHED),
    ]
    assert [stop.qp for stop in bench.payloads("stopped")] == [1]
    assert bench.events["qp_failed"] == 1


def test_each_failure_is_reported():
    """A QP that is opened again may fail again, and its causes are told apart."""
    bench = Bench()

    async def scenario(ctx):
        for n, status in enumerate((Status.LOCAL_ERROR, Status.RETRY_EXCEEDED) * 2):
            await bench.open(ctx, 1)
            bench.request(1, identifier=2 * n)
            bench.request(1, identifier=2 * n + 1)
            await ticks(ctx, 20)
            bench.fail(1, status)
            await ticks(ctx, 10)
            bench.fail(1, Status.REMOTE_ERROR)  # too late to be the cause
            await ticks(ctx, 40)

    bench.run(scenario)
    assert [status for _, status in ends(bench)] == [
        Status.LOCAL_ERROR,
        Status.FLUSHED,
        Status.RETRY_EXCEEDED,
        Status.FLUSHED,
    ] * 2


def test_stop_of_a_qp():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        for n in range(3):
            bench.request(1, identifier=n, octets=1024)
        await ticks(ctx, 18)
        await bench.open(ctx, 1, active=0)
        assert len(ends(bench)) == 3
        bench.request(1, identifier=3)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert ends(bench) == [(n, Status.FLUSHED) for n in range(3)] + [(3, Status.REFUSED)]
    assert [stop.qp for stop in bench.payloads("stopped")] == [1]
    # All of it was over when the row was taken.
    assert bench.cycles("stopped")[-1] < bench.taken["table"][-1]
    assert bench.cycles("o")[2] < bench.taken["table"][-1]
    assert bench.cycles("allocate")[-1] < bench.taken["table"][-1]


def test_a_new_life_starts_from_its_row():
    """All numbers start again, also where the former life ended in the middle of everything."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1, max_immediates=1)
        bench.request(1, identifier=0, with_immediate=1)
        await ticks(ctx, 15)
        bench.ack(1, 1)
        bench.request(1, identifier=1, octets=1024, with_immediate=1)
        bench.request(1, identifier=2, with_immediate=1)
        await ticks(ctx, 30)
        await bench.open(ctx, 1, tx_psn=0x5000, max_immediates=1)
        bench.request(1, identifier=3, octets=300, with_immediate=1)
        await ticks(ctx, 30)
        bench.sack(1, 0x5001)
        bench.ack(1, 1)
        await ticks(ctx, 30)

    bench.run(scenario)
    last = bench.payloads("allocate")[-2:]
    assert [packet.psn for packet in last] == [0x5000, 0x5001]
    assert [Opcode(packet.opcode) for packet in last] == [
        Opcode.WRITE_FIRST,
        Opcode.WRITE_LAST_IMM,
    ]
    assert {(packet.body.meth.msn, packet.body.meth.rqmsn) for packet in last} == {(0, 0)}
    assert ends(bench) == [
        (0, Status.OK),
        (1, Status.FLUSHED),
        (2, Status.FLUSHED),
        (3, Status.OK),
    ]
    assert bench.payloads("acknowledgement")[-1].cack == 0x5001


@pytest.mark.parametrize("how", ["fail", "close"])
def test_a_packet_on_offer_holds_nobody_up(how):
    """Its slot may only come free by the failure of another QP."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        await bench.open(ctx, 2)
        await ticks(ctx, 10)  # both have been visited
        ctx.set(bench.dut.allocate.ready, 0)
        bench.request(1)
        bench.request(2)
        await ticks(ctx, 30)
        if how == "fail":
            bench.fail(1, Status.RETRY_EXCEEDED)
        else:
            bench.row(1, active=1)
        await ticks(ctx, 30)
        assert [stop.qp for stop in bench.payloads("stopped")] == [1]
        bench.fail(2, Status.RETRY_EXCEEDED)
        await ticks(ctx, 30)
        assert [stop.qp for stop in bench.payloads("stopped")] == [1, 2]
        ctx.set(bench.dut.allocate.ready, 1)
        await ticks(ctx, 60)

    bench.run(scenario)
    # The packet on offer, and the next one, which was in the making. No other one leaves.
    assert [packet.qp for packet in bench.payloads("allocate")] == [1, 2]
    assert [stop.qp for stop in bench.payloads("stopped")] == [1, 2]
    if how == "close":
        assert bench.taken["table"][-1] > bench.cycles("allocate")[0]
    assert ends(bench, 2) == [(0, Status.RETRY_EXCEEDED)]
    assert ends(bench, 1) == [(0, Status.RETRY_EXCEEDED if how == "fail" else Status.FLUSHED)]


def test_rows_of_other_tables_pass():
    bench = Bench()

    async def scenario(ctx):
        await ticks(ctx, 10)
        for table in (Table.EV, Table.REGION):
            bench.feed["table"].append({"table": table, "index": 1, "row": (1 << 512) - 1})
        await ticks(ctx, 10)

    bench.run(scenario)
    assert len(bench.taken["table"]) == 2
    assert not bench.payloads("stopped")


def test_completions_in_a_row():
    """One message acknowledged at a time, or all at once."""
    bench = Bench(TINY.override(send_queue=16))

    async def scenario(ctx):
        await bench.open(ctx, 1)
        for n in range(16):
            bench.request(1, identifier=n)
        await ticks(ctx, 80)
        bench.ack(1, 8)
        await ticks(ctx, 30)
        for n in range(9, 17):
            bench.ack(1, n)
        await ticks(ctx, 50)

    bench.run(scenario)
    assert ends(bench) == [(n, Status.OK) for n in range(16)]
    cycles = bench.cycles("o")
    assert cycles[7] - cycles[0] == 7  # one in a cycle
    assert cycles[15] - cycles[8] <= 4 * 7  # a visit each


def test_completions_that_nobody_takes_wait():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        ctx.set(bench.dut.o.ready, 0)
        for n in range(4):
            bench.request(1, identifier=n)
        bench.ack(1, 0)
        await ticks(ctx, 40)
        bench.ack(1, 4)
        await ticks(ctx, 40)
        ctx.set(bench.dut.o.ready, 1)
        await ticks(ctx, 20)

    bench.run(scenario)
    assert ends(bench) == [(n, Status.OK) for n in range(4)]


def sacked_but_not_acked(*, max_cycles=4000, pace=1, settings=None, then=None, **row):
    """All packets of a message are acknowledged; the transport ACK is lost."""
    bench = Bench()
    bench.ticks_per_cycle = 1
    row = {"timeout": 2} | row  # 32 ticks

    async def scenario(ctx):
        for name, value in (settings or {}).items():
            ctx.set(bench.dut.settings[name], value)
        await bench.open(ctx, 1, **row)
        bench.request(1, octets=300)
        await ticks(ctx, 20)
        bench.sack(1, 0x100)
        await ticks(ctx, 60)
        assert not bench.payloads("probe")  # packets are under way: not our business
        bench.sack(1, 0x101)
        await ticks(ctx, 10)
        bench.ticks_per_cycle = pace
        await ticks(ctx, max_cycles - 160)
        if then:
            then(bench)
            await ticks(ctx, 40)

    bench.run(scenario, max_cycles=max_cycles)
    return bench


def intervals(bench):
    cycles = bench.cycles("probe")
    return [b - a for a, b in pairwise(cycles)]


WALK = 2 * TINY.qps


def test_a_lost_ack_is_asked_for():
    bench = sacked_but_not_acked(max_cycles=480, linear_count=7, then=lambda bench: bench.ack(1, 1))
    probe = bench.payloads("probe")[0]
    assert (probe.qp, probe.opcode, probe.role, probe.psn, probe.octets) == (
        1, Opcode.PROBE, Role.NO_TRIM, 0, 0,
    )  # fmt: skip
    assert probe.body.probe.probe_id == 0x0001
    assert (probe.body.probe.spdcid, probe.body.probe.dpdcid) == (1, 0xBCDE)
    assert probe.body.probe.ftype == 1
    for interval in intervals(bench):
        assert 32 < interval <= 33 + WALK
    assert [p.body.probe.probe_id >> 8 for p in bench.payloads("probe")] == list(
        range(len(bench.payloads("probe")))
    )
    assert bench.events["ack_missing"] == len(bench.payloads("probe"))
    assert ends(bench) == [(0, Status.OK)]


def test_a_cack_that_lags_is_asked_for():
    """All packets are acknowledged, but the SACK whose cack says so is lost, and so is the ACK."""
    bench = Bench()
    bench.ticks_per_cycle = 1

    async def scenario(ctx):
        await bench.open(ctx, 1, timeout=2, linear_count=7)  # 32 ticks
        bench.request(1, octets=300)
        await ticks(ctx, 20)
        bench.sack(1, 0x0FF, offset=1, bitmap=0b11)
        sacked = bench.cycle
        await ticks(ctx, 60)
        assert not bench.payloads("probe")
        await ticks(ctx, 20)
        assert len(bench.payloads("probe")) == 1
        assert 64 < bench.cycles("probe")[0] - sacked <= 70 + WALK
        bench.sack(1, 0x101)
        bench.ack(1, 1)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert ends(bench) == [(0, Status.OK)]


def test_the_time_out_doubles_after_the_linear_count():
    bench = sacked_but_not_acked(max_cycles=1500, linear_count=2, exponential_count=3)
    assert len(bench.payloads("probe")) == 5
    for interval, wanted in zip(intervals(bench), [32, 32, 64, 128], strict=True):
        assert wanted < interval <= wanted + 1 + WALK
    assert ends(bench) == [(0, Status.RETRY_EXCEEDED)]


@pytest.mark.parametrize(
    ("linear", "exponential", "probes"), [(0, 0, 0), (1, 0, 1), (6, 0, 6), (7, 1, 8)]
)
def test_limits_of_retries(linear, exponential, probes):
    bench = sacked_but_not_acked(
        max_cycles=1300, linear_count=linear, exponential_count=exponential
    )
    assert len(bench.payloads("probe")) == probes
    assert ends(bench) == [(0, Status.RETRY_EXCEEDED)]


@pytest.mark.parametrize(
    ("exponential", "settings", "gives_up"),
    [(24, None, True), (25, None, False), (1, {"retry_limit_off": 1}, False)],
)
def test_qps_that_never_give_up(exponential, settings, gives_up):
    """Time flies, so that all time-outs, up to the longest, are over in 24 cycles."""
    bench = sacked_but_not_acked(
        max_cycles=1300,
        pace=1 << 19,
        settings=settings,
        linear_count=0,
        exponential_count=exponential,
    )
    if gives_up:
        assert len(bench.payloads("probe")) == exponential
        assert ends(bench) == [(0, Status.RETRY_EXCEEDED)]
    else:
        assert len(bench.payloads("probe")) > 30
        assert not bench.payloads("o")

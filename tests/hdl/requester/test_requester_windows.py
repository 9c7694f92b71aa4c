from itertools import pairwise

import pytest
from requester_bench import TINY, Bench, ticks

from mrcnic.hdl.wire.psn import psn_add

OVERHEAD = 88
MOST = (1 << 25) - 1


@pytest.mark.parametrize("start", [0x000100, 0xFFFF80])
def test_edge_of_the_psn_window(start):
    """B059: cack + MPR - 1 is sent, and asks for an acknowledgement; cack + MPR is not."""
    bench = Bench()
    cack = psn_add(start, -1)

    async def scenario(ctx):
        await bench.open(ctx, 1, tx_psn=start, mpr=1)
        bench.request(1, octets=200 * 256)
        await ticks(ctx, 450)
        packets = bench.payloads("allocate")
        assert packets[-1].psn == psn_add(cack, 127)
        assert [packet.ack_request for packet in packets] == [0] * 126 + [1]
        bench.sack(1, psn_add(cack, 1))
        await ticks(ctx, 40)
        assert bench.payloads("allocate")[-1].psn == psn_add(cack, 128)
        assert bench.payloads("allocate")[-1].ack_request
        bench.sack(1, psn_add(cack, 128))
        await ticks(ctx, 300)
        assert bench.payloads("allocate")[-1].psn == psn_add(start, 199)

    bench.run(scenario)


@pytest.mark.parametrize("dynamic", [0, 1])
def test_the_peer_changes_its_window(dynamic):
    """Where that was agreed upon; SACKs of old count no more, and 0 says nothing."""
    bench = Bench(TINY.override(window=512, slots=256))
    counts = []

    async def scenario(ctx):
        await bench.open(ctx, 1, mpr=1, dynamic_mpr=dynamic)
        bench.request(1, octets=900 * 256)
        await ticks(ctx, 450)
        for cack, mpr in ((0x0FF, 2), (0x0FF, 0), (0x100, 1), (0x0FF, 4), (0x100, 255)):
            bench.sack(1, cack, mpr=mpr)
            await ticks(ctx, 800)
            counts.append(len(bench.log["allocate"]))

    bench.run(scenario)
    # 1 PSN short of the window, as everywhere.
    assert counts == ([255, 255, 255, 255, 512] if dynamic else [127, 127, 128, 128, 128])


def test_the_window_is_no_wider_than_ours():
    """MPR may be larger than the scoreboard."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1, mpr=255)
        bench.request(1, octets=200 * 256)
        await ticks(ctx, 450)

    bench.run(scenario)
    assert len(bench.payloads("allocate")) == TINY.window - 1


def test_share_of_the_slots():
    """Four times as many as are free, by the last one of them; the first one in any case."""
    bench = Bench()
    counts = []

    async def scenario(ctx):
        await bench.open(ctx, 1)
        await bench.open(ctx, 2)
        bench.request(1, octets=100 * 256)
        ctx.set(bench.dut.occupied, TINY.slots - 1)
        await ticks(ctx, 60)
        counts.append(len(bench.log["allocate"]))  # 4
        bench.retire(1, 256)
        await ticks(ctx, 60)
        counts.append(len(bench.log["allocate"]))  # one for one
        ctx.set(bench.dut.occupied, TINY.slots - 2)
        await ticks(ctx, 60)
        counts.append(len(bench.log["allocate"]))  # it sleeps until it hears of itself,
        bench.retire(1, 256)
        await ticks(ctx, 60)
        counts.append(len(bench.log["allocate"]))  # and then takes the four more
        # With none left: one packet of whoever has none, which has to wait for a slot.
        ctx.set(bench.dut.occupied, TINY.slots)
        bench.request(2, octets=100 * 256)
        await ticks(ctx, 60)
        counts.append(len(bench.log["allocate"]))

    bench.run(scenario)
    assert counts == [4, 5, 5, 10, 11]
    assert bench.payloads("allocate")[-1].qp == 2


def test_a_new_life_has_its_share():
    """Slots that were never retired count no more."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        ctx.set(bench.dut.occupied, TINY.slots - 1)
        bench.request(1, octets=100 * 256)
        await ticks(ctx, 60)
        await bench.open(ctx, 1)
        bench.request(1, octets=100 * 256)
        await ticks(ctx, 60)

    bench.run(scenario)
    assert len(bench.log["allocate"]) == 8


def test_congestion_window():
    """Credit is the UDP length and 40 octets, and comes back with each packet retired."""
    bench = Bench()
    full = 256 + OVERHEAD

    async def scenario(ctx):
        await bench.open(ctx, 1, cwnd=3 * full)
        await bench.open(ctx, 2, cwnd=3 * full - 1)
        await bench.open(ctx, 3, cwnd=1)
        for qp in (1, 2, 3):
            bench.request(qp, octets=10 * 256 + 1)
        await ticks(ctx, 60)

        def sent(qp):
            return [packet for packet in bench.payloads("allocate") if packet.qp == qp]

        assert [len(sent(qp)) for qp in (1, 2, 3)] == [3, 2, 1]
        # Asked for where the next full packet would not fit.
        assert [packet.ack_request for packet in sent(1)] == [0, 0, 1]
        assert [packet.ack_request for packet in sent(2)] == [0, 1]
        assert [packet.ack_request for packet in sent(3)] == [1]
        for qp in (1, 2, 3):
            bench.retire(qp, 256)
        await ticks(ctx, 40)
        assert [len(sent(qp)) for qp in (1, 2, 3)] == [4, 3, 2]
        for n in range(8):
            for qp in (1, 2, 3):
                bench.retire(qp, 256)
            await ticks(ctx, 30)
            assert len(sent(3)) == min(3 + n, 11)
        assert [len(sent(qp)) for qp in (1, 2, 3)] == [11, 11, 10]
        bench.retire(3, 256)
        await ticks(ctx, 30)
        assert sent(3)[-1].octets == 1

    bench.run(scenario)


def test_padding_counts_in_the_congestion_window():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0, cwnd=2 * (4 + OVERHEAD))
        await bench.open(ctx, 1, cwnd=2 * (4 + OVERHEAD) - 1)
        for qp in (0, 1):
            bench.request(qp, octets=1)
            bench.request(qp, octets=3)
        await ticks(ctx, 60)

    bench.run(scenario)
    assert [packet.qp for packet in bench.payloads("allocate")].count(0) == 2
    assert [packet.qp for packet in bench.payloads("allocate")].count(1) == 1


def test_limit_of_immediates():
    config = TINY.override(send_queue=8)
    bench = Bench(config)

    async def scenario(ctx):
        await bench.open(ctx, 1, max_immediates=2)
        for n in range(5):
            bench.request(1, identifier=n, with_immediate=1)
        await ticks(ctx, 60)
        assert [p.body.meth.rqmsn for p in bench.payloads("allocate")] == [0, 1]
        bench.sack(1, 0x101)  # packets alone do not open it
        bench.retire(1, 16)
        await ticks(ctx, 40)
        assert len(bench.payloads("allocate")) == 2
        bench.ack(1, 1)
        await ticks(ctx, 40)
        assert len(bench.payloads("allocate")) == 3
        bench.ack(1, 3)
        await ticks(ctx, 40)
        assert [p.body.meth.rqmsn for p in bench.payloads("allocate")] == [0, 1, 2, 3, 4]

    bench.run(scenario)


DELAYS = range(14)


@pytest.mark.parametrize("kind", ["psn", "credit", "immediate"])
def test_no_wake_up_is_lost(kind):
    """Whatever opens a window may come at any time, also while the QP is found to be blocked."""
    bench = Bench(TINY.override(send_queue=16))
    full = 256 + OVERHEAD

    async def scenario(ctx):
        if kind == "psn":
            await bench.open(ctx, 1, mpr=1)
            bench.request(1, octets=(127 + len(DELAYS)) * 256)
        else:
            await bench.open(ctx, 1, max_immediates=1, cwnd=full if kind == "credit" else MOST)
            for _ in range(len(DELAYS) + 1):
                bench.request(1, octets=256, with_immediate=kind == "immediate")
        sent = 127 if kind == "psn" else 1
        for n, delay in enumerate(DELAYS):
            while len(bench.log["allocate"]) < sent:
                await ctx.tick()
            await ticks(ctx, delay)
            # One event, for one packet, just when that finds the window shut, or about that.
            if kind == "psn":
                bench.sack(1, 0x100 + n)
            elif kind == "credit":
                bench.retire(1, 256)
            else:
                bench.ack(1, n + 1)
            await ticks(ctx, 30)
            sent += 1
            assert len(bench.log["allocate"]) == sent, f"stuck after {delay}"

    bench.run(scenario)


def test_closed_windows_do_not_hold_up_others():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 0, cwnd=1)
        await bench.open(ctx, 1)
        bench.request(0, octets=1024)
        bench.request(1, octets=20 * 256)
        await ticks(ctx, 100)

    bench.run(scenario)
    cycles = [c for c, packet in bench.log["allocate"] if packet.qp == 1]
    assert len(cycles) == 20
    assert max(b - a for a, b in pairwise(cycles)) <= 6
    assert next(a for a in bench.payloads("allocate") if a.qp == 0).ack_request


def test_credit_of_a_former_life_does_not_count():
    """Slots that are freed between two lives give no credit to the second."""
    bench = Bench()
    row = {"cwnd": 2 * (256 + OVERHEAD)}

    async def scenario(ctx):
        await bench.open(ctx, 1, **row)
        bench.request(1, octets=1024)
        await ticks(ctx, 40)
        await bench.open(ctx, 1, **row)
        for _ in range(2):
            bench.retire(1, 256)
        await ticks(ctx, 20)
        bench.request(1, octets=1024)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert [packet.psn for packet in bench.payloads("allocate")] == [0x100, 0x101] * 2

from itertools import pairwise

import pytest
from requester_bench import Bench, ticks

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor.outcome import EvEventKind, Status
from mrcnic.hdl.wire.headers import SETH
from mrcnic.hdl.wire.opcodes import NackReason, Opcode
from mrcnic.hdl.wire.psn import psn_add


def sent_by(bench, qp=1, *, packets=0x40, start=0x100, **row):
    """Open a QP and send packets from 0x100 on, to 0x13f if nothing else is said."""

    async def scenario(ctx):
        await bench.open(ctx, qp, tx_psn=start, **row)
        bench.request(qp, octets=packets * 256)
        while len(bench.log["allocate"]) < packets:
            await ctx.tick()

    return scenario


def responses(*says, start=0x100, **row):
    """Send 0x40 packets, then let the peer say something each 20 cycles."""
    bench = Bench()

    async def scenario(ctx):
        await sent_by(bench, start=start, **row)(ctx)
        for say in says:
            say(bench)
            await ticks(ctx, 20)

    bench.run(scenario)
    return bench


def test_everything_sent_may_be_acknowledged():
    bench = responses(lambda b: b.sack(1, 0x13F))
    assert [a.cack for a in bench.payloads("acknowledgement")] == [0x13F]
    assert not bench.events


def test_a_psn_never_sent_is_not_acknowledged():
    """Neither by the cumulative PSN nor by a bit; the state stays."""
    bench = responses(
        lambda b: b.sack(1, 0x900),
        lambda b: b.sack(1, 0x140),
        lambda b: b.sack(1, 0x104, offset=1, bitmap=1 << 59),  # 0x105 + 59 = 0x140
        lambda b: b.sack(1, 0x104, offset=1, bitmap=1 << 58),
        lambda b: b.sack(1, 0x106, offset=1, bitmap=0),
    )
    assert bench.events == {"sack_never_sent": 3}
    assert [(a.cack, a.base, a.bitmap) for a in bench.payloads("acknowledgement")] == [
        (0x104, 0x105, 1 << 58),
        (0x106, 0x107, 0),
    ]


def test_a_stale_sack_takes_nothing_back():
    bench = responses(
        lambda b: b.sack(1, 0x120),
        lambda b: b.sack(1, 0x0F0),
        lambda b: b.sack(1, 0x110, offset=8, bitmap=(1 << 64) - 1 >> 24),  # 0x118 to 0x13f
    )
    assert bench.events == {"sack_stale": 2}
    assert [(a.cack, a.base, a.bitmap) for a in bench.payloads("acknowledgement")] == [
        (0x120, 0x121, 0),
        (0x120, 0x0F1, 0),
        (0x120, 0x118, ((1 << 40) - 1) & ~0x1FF),
    ]


@pytest.mark.parametrize("start", [0x100, 0xFFFFF0])
def test_any_base_is_taken(start):
    """Bits at or below the acknowledged PSN are cleared, wherever the base is."""
    cack = psn_add(start, 20)
    offsets = [-100, -64, -63, -5, -1, 0, 1, 2, 19]
    bench = responses(
        *(lambda b, n=n: b.sack(1, cack, offset=n, bitmap=0x1FFF) for n in offsets), start=start
    )
    for offset, got in zip(offsets, bench.payloads("acknowledgement"), strict=True):
        bits = sum(1 << n for n in range(13) if offset + n > 0)
        assert (got.cack, got.base, got.bitmap) == (cack, psn_add(cack, offset), bits)


def test_what_a_sack_tells_of_its_cause():
    bench = responses(
        lambda b: b.sack(1, 0x104, ack_psn_offset=3, resent=1),
        lambda b: b.sack(1, 0x104, ack_psn_offset=0xFFFE),
        lambda b: b.sack(1, 0x104, ack_psn_offset=0x8077, probe_reply=1),
    )
    first, second, third = bench.payloads("acknowledgement")
    assert (first.trigger, first.trigger_resent, first.probe) == (0x107, 1, 0)
    assert (second.trigger, second.trigger_resent) == (0x102, 0)
    assert (third.probe, third.probe_id) == (1, 0x8077)


def test_answers_to_probes_of_an_ev_are_told():
    """Answers to probes of other kinds are for others; an answer that is stale counts, too."""
    bench = responses(
        lambda b: b.sack(1, 0x104, ack_psn_offset=0x0502, probe_reply=1),
        lambda b: b.sack(1, 0x104, ack_psn_offset=0x0502),
        lambda b: b.sack(1, 0x103, ack_psn_offset=0xFFFF, probe_reply=1, mark=1),
        lambda b: b.sack(1, 0x104, ack_psn_offset=0x0500, probe_reply=1),
        lambda b: b.sack(1, 0x104, ack_psn_offset=0x0501, probe_reply=1),
    )
    answers = [(a.qp, a.probe_id, a.marked) for a in bench.payloads("probe_answers")]
    assert answers == [(1, 0x0502, 0), (1, 0xFFFF, 1)]


def test_marks_are_news_of_the_echoed_ev():
    """Only the two bits of the mark count: a one is walked through the second octet."""
    bench = Bench(PRESETS["sim"])

    async def scenario(ctx):
        await sent_by(bench)(ctx)
        for n in range(8):
            header = bytes([0, 1 << n, 0, 3]) + bytes.fromhex("c0352010") + bytes(4)
            header += bytes([0, 0, 1, 4]) + bytes(12)
            bench.sack(1, 0x104, **{k: v for k, v in SETH.unpack(header).items() if v})
            await ticks(ctx, 10)

    bench.run(scenario)
    assert [(e.kind, e.ev_index, e.echoed, e.ev) for e in bench.payloads("ev_events")] == [
        (EvEventKind.SKIP, 0x35, 1, 0xC0352010),
        (EvEventKind.BAD, 0x35, 1, 0xC0352010),
    ]
    assert [a.probe for a in bench.payloads("acknowledgement")] == [0, 1, 0, 0, 0, 0, 0, 0]


def test_strangers_are_counted():
    bench = Bench()

    async def scenario(ctx):
        await sent_by(bench)(ctx)
        bench.sack(1, 0x104, dqp=0x000001)  # same index, another number
        bench.sack(2, 0x104)  # not open
        bench.respond(1, Opcode.WRITE_ONLY, {})
        await ticks(ctx, 30)

    bench.run(scenario)
    assert bench.events == {"rx_unknown_qp": 2, "rx_unknown_response": 1}
    assert not bench.payloads("acknowledgement")


def test_nacks():
    """Of PSNs under way only."""
    bench = responses(
        lambda b: b.nack(1, 0x105, NackReason.TRIMMED),
        lambda b: b.nack(1, 0x140, NackReason.TRIMMED),
        lambda b: b.nack(1, 0x0FF, NackReason.TRIMMED),
        lambda b: b.sack(1, 0x105),
        lambda b: b.nack(1, 0x105, NackReason.TRIMMED),
        lambda b: b.nack(1, 0x13F, NackReason.NO_BUFFER),
        lambda b: b.nack(1, 0x140, NackReason.UNEXPECTED),
    )
    assert bench.events == {"nack_stale": 4}
    assert [(n.qp, n.psn, n.reason) for n in bench.payloads("nack")] == [
        (1, 0x105, NackReason.TRIMMED),
        (1, 0x13F, NackReason.NO_BUFFER),
    ]


def test_only_a_trim_in_the_fabric_is_news_of_the_ev():
    """One at the last hop says nothing of the path."""
    bench = responses(
        lambda b: b.nack(1, 0x105, NackReason.TRIMMED, entropy=0xC0052010),
        lambda b: b.nack(1, 0x106, NackReason.TRIMMED_LASTHOP, entropy=0xC0062010),
        lambda b: b.nack(1, 0x107, NackReason.NO_BUFFER, entropy=0xC0072010),
    )
    assert [(e.qp, e.kind, e.ev_index, e.echoed, e.ev) for e in bench.payloads("ev_events")] == [
        (1, EvEventKind.SKIP, 5, 1, 0xC0052010)
    ]
    assert len(bench.payloads("nack")) == 3


@pytest.mark.parametrize(
    ("say", "status"),
    [
        (lambda b: b.nack(1, 0x105, NackReason.UNEXPECTED), Status.REMOTE_ERROR),
        (lambda b: b.ack(1, 0, syndrome=0x62), Status.REMOTE_ACCESS),
        (lambda b: b.ack(1, 0, syndrome=0x61), Status.REMOTE_ERROR),
        (lambda b: b.ack(1, 0, syndrome=0x63), Status.REMOTE_ERROR),
    ],
)
def test_what_ends_a_qp(say, status):
    bench = responses(say, lambda b: b.sack(1, 0x13F))
    assert [(end.qp, end.status) for end in bench.payloads("o")] == [(1, status)]
    assert [stop.qp for stop in bench.payloads("stopped")] == [1]
    assert bench.events == {"qp_failed": 1, "rx_unknown_qp": 1}
    assert not bench.payloads("nack")


def test_transport_acks():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        for n in range(4):
            bench.request(1, identifier=n)
        await ticks(ctx, 40)
        bench.ack(1, 5)  # never sent
        bench.ack(1, 2, syndrome=0x20)  # no such thing as "receiver not ready"
        await ticks(ctx, 20)
        assert not bench.payloads("o")
        bench.ack(1, 3)
        bench.ack(1, 3)  # repeated, which is no wonder
        bench.ack(1, 2)
        await ticks(ctx, 20)

    bench.run(scenario)
    assert [end.identifier for end in bench.payloads("o")] == [0, 1, 2]
    assert bench.events == {"ack_never_sent": 1, "ack_unknown_syndrome": 1, "ack_stale": 1}


def test_packets_do_not_complete_messages():
    """A later message that has arrived ends nothing before the earlier one does."""
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        bench.request(1, identifier=1, octets=1024)
        bench.request(1, identifier=2)
        await ticks(ctx, 40)
        bench.sack(1, 0x102, offset=2, bitmap=1)  # 0x103 is missing
        await ticks(ctx, 30)
        assert not bench.payloads("o")
        bench.ack(1, 2)
        await ticks(ctx, 30)

    bench.run(scenario)
    assert [end.identifier for end in bench.payloads("o")] == [1, 2]


def test_a_sack_in_2_cycles():
    bench = Bench()

    async def scenario(ctx):
        await sent_by(bench)(ctx)
        for n in range(32):
            bench.sack(1, 0x100 + n, offset=1, bitmap=0x3)
        await ticks(ctx, 80)

    bench.run(scenario)
    cycles = bench.cycles("acknowledgement")
    assert [b - a for a, b in pairwise(cycles)] == [2] * 31
    assert cycles[0] - bench.taken["responses"][0] == 6


def test_acknowledgements_that_nobody_takes_wait():
    bench = Bench()

    async def scenario(ctx):
        await sent_by(bench)(ctx)
        ctx.set(bench.dut.acknowledgement.ready, 0)
        for n in range(10):
            bench.sack(1, 0x100 + n)
        await ticks(ctx, 60)
        ctx.set(bench.dut.acknowledgement.ready, 1)
        await ticks(ctx, 40)

    bench.run(scenario)
    assert [a.cack for a in bench.payloads("acknowledgement")] == [0x100 + n for n in range(10)]


def test_a_nak_says_what_had_ended_before():
    bench = Bench()

    async def scenario(ctx):
        await bench.open(ctx, 1)
        for n in range(4):
            bench.request(1, identifier=n)
        await ticks(ctx, 40)
        bench.ack(1, 2, syndrome=0x62)
        await ticks(ctx, 60)

    bench.run(scenario)
    assert [(end.identifier, end.status) for end in bench.payloads("o")] == [
        (0, Status.OK),
        (1, Status.OK),
        (2, Status.REMOTE_ACCESS),
        (3, Status.FLUSHED),
    ]

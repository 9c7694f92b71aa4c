"""One case at a time: values of the test vectors, window edges, and faults that others had."""

import random

import pytest
from responder_bench import TINY, Bench, probe, qp_row, region_row, write
from responder_reference import ReferenceQp
from responder_traffic import shown

from mrcnic.hdl.wire.opcodes import NackReason, Opcode

WINDOW = TINY.window

# Extension headers of the vectors of docs/protocol.md.
V2 = "00200003c0052010001200340000010200000001000000000000000612340002000000" + "21"
V3 = "00000100c00520100012003400000105200012" + "34"
V7 = "1f000022"


def run(script, *, psn=0x100, **options):
    """Run ``script`` on a bench that has one QP, which expects ``psn``, and one region."""
    bench = Bench(**options)

    async def main(bench):
        await bench.set_up(region_row(), qp_row(psn=psn))
        await script(bench)

    bench.run(main)
    return bench


def places(bench):
    return [verdict.place for _, verdict in bench.verdicts[0]]


def last_sack(bench):
    return bench.of(Opcode.SACK)[-1]


def counts(bench):
    return {name: count for name, count in bench.events.items() if count}


# ---- vectors -------------------------------------------------------------------------------------


def test_v2():
    async def script(bench):
        psns = [*range(0xF0, 0x103), 0x104]
        await bench.send(*(write(psn, octets=312) for psn in psns))
        await bench.settle()
        assert bench.reports == []
        await bench.send(write(0x105, octets=312, ce=1, ev=0xC0052010, tx_timestamp=0x1234))
        await bench.settle()

    bench = run(script, psn=0xF0, sack_threshold=1 << 20)
    (sack,) = bench.reports
    assert sack.wire.hex() == V2
    assert (sack.psn, sack.rtx, sack.role) == (0x102, 0, 0)


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        (NackReason.TRIMMED, {"trimmed": 1}),
        (NackReason.TRIMMED_LASTHOP, {"trimmed": 1, "last_hop": 1}),
        (NackReason.NO_BUFFER, {"no_room": 1}),
    ],
)
def test_v3(reason, fields):
    async def script(bench):
        shared = {"ev": 0xC0052010, "tx_timestamp": 0x1234, "payload": 0}
        await bench.send(write(0x105, **shared, **fields))
        await bench.settle()

    (nack,) = run(script).reports
    assert nack.wire.hex() == V3.replace("000001", f"0000{reason:02x}", 1)
    assert (nack.psn, nack.opcode) == (0x105, Opcode.NACK)


def test_v7():
    async def script(bench):
        await bench.send(*(write(psn, ack_request=1) for psn in range(0xE4, 0x106)))
        await bench.settle()

    acks = run(script, psn=0xE4).of(Opcode.ACK)
    assert acks[-1].wire.hex() == V7
    assert acks[-1].psn == 0x105


# ---- SACKs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_sacks_are_those_of_the_reference(seed):
    """Exact, where every packet asks for a SACK and there is time to send it."""
    rng = random.Random(seed)
    start = rng.choice([0x100, 0xFFFFC0])
    reference = ReferenceQp(start, window=WINDOW)
    window = [start + n for n in range(WINDOW)]
    psns = rng.sample(window[1:], 25)  # wide gaps: more than 64 PSNs above cack
    psns += [window[0], window[1], *rng.sample(window, 8)]
    expected = []

    async def script(bench):
        for psn in psns:
            packet = write(psn, ack_request=1, octets=rng.randint(1, 1024))
            reference.take(packet)
            expected.append(reference.sack())
            await bench.send(packet)
            await bench.settle(75)

    bench = run(script, psn=start, flush_delay=0xFFFF)
    sacks = bench.of(Opcode.SACK)
    assert [shown(sack) for sack in sacks] == expected
    assert [sack.trigger for sack in sacks] == [psn % 2**24 for psn in psns]


@pytest.mark.parametrize("ahead", [63, 64, 65])
def test_the_highest_psn_is_shown(ahead):
    """Whether the bitmap that starts above cack would just hold it, or just not."""

    async def script(bench):
        await bench.send(write(0x100 + ahead, ack_request=1))
        await bench.settle()

    (sack,) = run(script).reports
    assert sack.base == 0x100 + max(0, ahead - 63)
    assert sack.shown == {0x100 + ahead}


@pytest.mark.parametrize("dynamic", [0, 1])
def test_the_window_is_told_where_that_was_agreed(dynamic):
    async def script(bench):
        await bench.set_up(qp_row(dynamic_mpr=dynamic))
        await bench.send(write(0x100, ack_request=1))
        await bench.settle()

    assert [sack.mpr for sack in run(script).of(Opcode.SACK)] == [dynamic * WINDOW // 128]


def test_no_mark_is_lost_while_a_sack_is_made():
    """Whenever the marked packet comes after the one whose SACK is being made."""

    async def script(bench):
        for n in range(15):
            await bench.send(write(0x100 + 2 * n, ack_request=1))
            await bench.step(n)
            await bench.send(write(0x101 + 2 * n, ce=1))
            await bench.settle(50)

    marked = {sack.trigger for sack in run(script).of(Opcode.SACK) if sack.mark}
    assert marked == {0x101 + 2 * n for n in range(15)}


def test_a_sack_is_due_beyond_the_threshold():
    async def script(bench):
        await bench.send(*(write(0x100 + n, octets=16) for n in range(4)))
        await bench.settle()
        assert bench.reports == []  # 4 times 1024 are 4096, not more
        await bench.send(write(0x104, octets=16))
        await bench.settle()
        assert len(bench.reports) == 1
        await bench.send(*(write(0x105 + n, octets=16) for n in range(4)))
        await bench.settle()
        assert len(bench.reports) == 1
        await bench.send(write(0x109, octets=16))
        await bench.settle()

    assert len(run(script, sack_threshold=4096, flush_delay=0xFFFF).reports) == 2


@pytest.mark.parametrize("flag", ["ack_request", "ce", "retransmission"])
def test_each_flag_alone_is_a_reason(flag):
    """B095: each flag has its own effect and no other."""

    async def script(bench):
        await bench.send(write(0x100, opcode=Opcode.WRITE_FIRST, dmalen=99, **{flag: 1}))
        await bench.settle()

    (sack,) = run(script).reports
    assert sack.mark == (flag == "ce")
    assert sack.rtx == (flag == "retransmission")
    assert sack.probe_reply == 0


def test_flush():
    """A SACK leaves when nothing has come for the delay, and one more for what it did not show."""

    async def script(bench):
        await bench.send(write(0x100), write(0x101))
        accepted = bench.cycle
        await bench.step(100)
        assert bench.reports == []
        await bench.step(90)
        (sack,) = bench.reports
        assert 4 * 32 - 32 <= sack.cycle - accepted <= 5 * 32 + TINY.qps + 30
        assert (sack.trigger, sack.cack_psn) == (0x101, 0x101)
        await bench.step(400)
        assert len(bench.reports) == 1
        # 0x102 is missing, and the highest is 100 above the first that has come.
        await bench.send(write(0x103), write(0x103 + 100, ack_request=1))
        await bench.step(500)
        first, second = bench.of(Opcode.SACK)[1:]
        assert (first.base, first.shown) == (0x103, {0x103})
        assert second.shown == {0x103 + 100}

    run(script, flush_delay=4)


def test_probe():
    async def script(bench):
        await bench.send(probe(0x77, ev=0xABCD, tx_timestamp=0x1300))
        await bench.settle()
        assert len(bench.reports) == 1  # nothing to acknowledge yet
        await bench.send(write(0x100, ack_request=1))
        await bench.settle()
        assert len(bench.reports) == 3
        await bench.send(probe(0x78))
        await bench.settle()

    bench = run(script)
    first, last = bench.of(Opcode.SACK)[0], bench.of(Opcode.SACK)[-1]
    assert (first.probe_reply, first.ack_psn_offset, first.entropy) == (1, 0x77, 0xABCD)
    assert (first.tx_timestamp, first.cack_psn) == (0x1300, 0xFF)
    assert (last.probe_reply, last.ack_psn_offset) == (1, 0x78)
    assert [ack.msn for ack in bench.of(Opcode.ACK)] == [1, 1]


def test_neither_mark_nor_probe_is_lost_while_reports_wait():
    async def script(bench):
        bench.reports_ready = lambda: False
        await bench.send(*(write(0x110 + 2 * n, ack_request=1) for n in range(3)))
        await bench.settle()  # the output and what stands before it are taken
        await bench.send(write(0x120, ce=1, ev=7), probe(0x55), write(0x122, ack_request=1))
        await bench.send(*(write(0x124 + 2 * n) for n in range(10)))  # does not wait for reports
        await bench.settle()
        bench.reports_ready = lambda: True
        await bench.settle(100)

    sacks = run(script).of(Opcode.SACK)
    assert [sack.ack_psn_offset for sack in sacks if sack.probe_reply] == [0x55]
    assert [(sack.trigger, sack.entropy) for sack in sacks if sack.mark] == [(0x120, 7)]


# ---- window --------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0x100, 0xFFFFF0, 0xFFFFFF - WINDOW])
def test_window_edges(start):
    """Behind is a duplicate; up to cack + window is taken; beyond is refused, once per RTT."""
    cack = start + 9

    async def script(bench):
        await bench.send(*(write(start + n) for n in range(10)))
        await bench.settle()
        for offset in (WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + 2, 0, -1):
            await bench.send(write(cack + offset))
            await bench.settle()
        await bench.step(8 * 32 * 2)
        await bench.send(write(cack + WINDOW + 1))
        await bench.settle()

    bench = run(script, psn=start)
    assert places(bench)[10:] == [1, 1, 0, 0, 0, 0, 0]
    nacks = bench.of(Opcode.NACK)
    assert [nack.reason for nack in nacks] == [NackReason.OUT_OF_WINDOW] * 2
    assert [nack.nack_psn for nack in nacks] == [(cack + WINDOW + 1) % 2**24] * 2
    assert counts(bench) == {"rx_beyond_window": 3, "rx_duplicate": 2}


def test_a_full_window_is_stepped_over():
    """B067: the walk ends in time, and packets are taken meanwhile."""

    async def script(bench):
        psns = list(range(0x101, 0x100 + WINDOW))
        random.Random(0).shuffle(psns)
        await bench.send(*(write(psn) for psn in psns), write(0x100))
        await bench.settle()  # three rows
        await bench.send(write(0x100 + WINDOW, ack_request=1))
        await bench.settle()

    bench = run(script, flush_delay=0xFFFF, sack_threshold=1 << 20)
    assert all(places(bench))
    sack = last_sack(bench)
    assert (sack.cack_psn, sack.ooo_count) == (0x100 + WINDOW, 0)


def test_wrap_is_not_reordering():
    """B070."""

    async def script(bench):
        await bench.send(*(write(psn, ack_request=1) for psn in (0xFFFFFE, 0xFFFFFF, 0, 1)))
        await bench.settle()

    bench = run(script, psn=0xFFFFFE)
    assert [sack.ooo_count for sack in bench.of(Opcode.SACK)] == [0] * len(bench.of(Opcode.SACK))
    assert last_sack(bench).cack_psn == 1
    assert counts(bench) == {}


# ---- duplicates, lengths, room -------------------------------------------------------------------


def test_duplicate():
    """B052: the SACK has the current cack, and nothing is written again."""

    async def script(bench):
        await bench.send(*(write(psn) for psn in range(0x100, 0x107)))
        await bench.send(write(0x105))
        await bench.settle()

    bench = run(script)
    assert places(bench) == [1] * 7 + [0]
    sack = last_sack(bench)
    assert (sack.cack_psn, sack.ack_psn_offset) == (0x106, 0xFFFF)


def test_duplicate_of_a_last_packet_repeats_the_ack():
    async def script(bench):
        for _ in range(2):
            await bench.send(write(0x100, ack_request=1))
            await bench.settle()

    assert [ack.msn for ack in run(script).of(Opcode.ACK)] == [1, 1]


def test_many_duplicates():
    """B073: one SACK or less for each, no counter overflows, and the QP goes on."""

    async def script(bench):
        await bench.send(write(0x100), *(write(0x100) for _ in range(300)))
        await bench.send(write(0x101))
        await bench.settle()

    bench = run(script)
    assert sum(places(bench)) == 2
    assert counts(bench) == {"rx_duplicate": 300}
    assert last_sack(bench).rcvd_bytes == 1


def test_payload_without_pad():
    """B037."""

    async def script(bench):
        await bench.send(write(0x100, octets=13, pad=3, va=0x100000))
        await bench.settle()

    ((_, verdict),) = run(script).verdicts[0]
    assert (verdict.place, verdict.address, verdict.octets) == (1, 0x100000, 13)


def test_length_zero():
    """B050: the PSN is used up, nothing is written, whatever the key."""

    async def script(bench):
        await bench.send(write(0x100, octets=0, rkey=0, ack_request=1), write(0x101))
        await bench.settle()

    bench = run(script)
    assert places(bench) == [1]
    assert bench.of(Opcode.ACK)[-1].msn == 1
    assert last_sack(bench).cack_psn == 0x101


def test_no_room_is_not_marked():
    """B055, B103: each copy without room is refused; the first with room is taken."""

    async def script(bench):
        for _ in range(3):
            await bench.send(write(0x100, no_room=1, payload=0))
        await bench.send(write(0x100))
        await bench.settle()

    bench = run(script)
    assert [nack.reason for nack in bench.of(Opcode.NACK)] == [NackReason.NO_BUFFER] * 3
    assert places(bench) == [1]
    assert counts(bench) == {"rx_no_room": 3}


def trimmed(psn, **fields):
    """Return what a switch leaves of a write: BTH, METH and TSETH."""
    return write(psn, octets=0, rkey=0, va=0, payload=0, trimmed=1, **fields)


def test_trimmed_packets():
    """Nothing is marked or counted, and nothing checked: keys and immediates are gone."""

    async def script(bench):
        await bench.send(write(0x100), trimmed(0x101, opcode=Opcode.WRITE_ONLY_IMM, rqmsn=99))
        await bench.send(trimmed(0x102, ack_request=1, ce=1, retransmission=1))
        await bench.settle()
        assert [nack.nack_psn for nack in bench.of(Opcode.NACK)] == [0x101, 0x102]
        assert bench.of(Opcode.SACK) == []
        # It may come in the end, and then the rest of it as well.
        await bench.send(write(0x101))
        await bench.send(trimmed(0x101, ev=0xC0070010, ack_request=1))
        await bench.settle()
        assert last_sack(bench).trigger == 0x101
        assert last_sack(bench).entropy == 0xC0070010
        # Outside the window: nothing, and the one NACK of a base RTT is still to be had.
        await bench.send(trimmed(0x102 + WINDOW), write(0x103 + WINDOW))
        await bench.settle()

    bench = run(script, sack_threshold=1 << 20, flush_delay=0xFFFF)
    nacks = bench.of(Opcode.NACK)
    assert [(nack.reason, nack.nack_psn) for nack in nacks[2:]] == [(0x0B, 0x103 + WINDOW)]
    assert len(bench.of(Opcode.SACK)) == 1
    assert last_sack(bench).rcvd_bytes == 1  # 2 packets of 104 octets
    assert places(bench) == [1, 1, 0]
    assert counts(bench) == {"rx_duplicate": 1, "rx_beyond_window": 1}


def test_no_nack_of_trimmed_packets_where_that_is_not_agreed():
    async def script(bench):
        await bench.set_up(qp_row(trim_nack=0))
        await bench.send(trimmed(0x100), write(0x100))
        await bench.settle()

    bench = run(script)
    assert bench.of(Opcode.NACK) == []
    assert places(bench) == [1]


def test_trimmed_packets_of_a_failed_qp():
    async def script(bench):
        await bench.send(write(0x100, rkey=0xBAD))
        await bench.step(10 * 32)
        await bench.send(trimmed(0x101))
        await bench.settle()

    assert [report.opcode for report in run(script).reports] == [Opcode.ACK] * 2


def test_nacks_beyond_the_queue_are_counted():
    async def script(bench):
        bench.reports_ready = lambda: False
        await bench.send(*(write(0x100 + n, no_room=1, payload=0) for n in range(30)))
        await bench.settle()
        bench.reports_ready = lambda: True
        await bench.settle()

    bench = run(script)
    assert len(bench.of(Opcode.NACK)) + bench.events["tx_nack_dropped"] == 30
    assert len(bench.of(Opcode.NACK)) >= 16


@pytest.mark.parametrize(
    ("name", "packets"),
    [
        ("rx_unknown_qp", [write(0x100, dqp=0x016), write(0x100, dqp=0x011), write(0, opcode=1)]),
        ("rx_beyond_window", [write(0x100 + WINDOW + n) for n in range(3)]),
        ("rx_no_room", [write(0x100, no_room=1, payload=0)] * 3),
    ],
)
def test_each_counter_counts_its_own(name, packets):
    """B116."""

    async def script(bench):
        await bench.send(*packets)
        await bench.settle()

    bench = run(script)
    assert counts(bench) == {name: 3}
    assert not any(places(bench))


# ---- messages ------------------------------------------------------------------------------------


def test_messages_complete_in_order():
    """B053: no ACK for the second message while the first has a gap."""

    async def script(bench):
        first = {"dmalen": 64, "va": 0x1000}
        await bench.send(
            write(0x100, opcode=Opcode.WRITE_FIRST, **first),
            write(0x101, opcode=Opcode.WRITE_MIDDLE, **first),
            write(0x102, opcode=Opcode.WRITE_MIDDLE, **first),
            write(0x104, ack_request=1),
        )
        await bench.settle()
        assert bench.of(Opcode.ACK) == []
        await bench.send(
            write(0x103, opcode=Opcode.WRITE_LAST, ack_request=1, dmalen=64, va=0x1100)
        )
        await bench.settle()

    assert [ack.msn for ack in run(script).of(Opcode.ACK)] == [2]


def test_nothing_leaves_before_memory():
    async def script(bench):
        await bench.send(write(0x100), write(0x101, opcode=Opcode.WRITE_ONLY_IMM, ack_request=1))
        await bench.settle(100)
        assert bench.of(Opcode.ACK) == []
        assert bench.completions == []
        assert len(bench.of(Opcode.SACK)) == 1
        await bench.settle(150)

    bench = run(script, latency=lambda lane: 150)
    assert bench.of(Opcode.ACK)[0].cycle > bench.written[-1][0]
    assert bench.completions[0][0] > bench.written[-1][0]


def test_immediates_in_order():
    def packet(psn, number):
        return write(
            psn, opcode=Opcode.WRITE_ONLY_IMM, rqmsn=number, immediate=100 + number, ack_request=1
        )

    async def script(bench):
        await bench.send(*(packet(0x100 + n, n) for n in (2, 1, 3)))
        await bench.settle()
        assert bench.completions == []
        await bench.send(packet(0x100, 0))
        await bench.settle()

    bench = run(script)
    assert [item.immediate for _, item in bench.completions] == [100, 101, 102, 103]
    assert [item.octets for _, item in bench.completions] == [16] * 4
    assert [ack.msn for ack in bench.of(Opcode.ACK)] == [4]


def test_an_immediate_waits_for_the_gap_below_it():
    """Even when cack passes another message meanwhile."""

    async def script(bench):
        await bench.send(write(0x102, opcode=Opcode.WRITE_ONLY_IMM), write(0x100))
        await bench.settle()
        assert bench.completions == []
        await bench.send(write(0x101))
        await bench.settle()

    assert len(run(script).completions) == 1


def test_too_many_immediates():
    async def script(bench):
        for number in (TINY.immediates - 1, TINY.immediates):
            await bench.send(write(0x101 + number, opcode=Opcode.WRITE_ONLY_IMM, rqmsn=number))
        await bench.settle()

    bench = run(script)
    assert places(bench) == [1, 0]
    assert bench.of(Opcode.ACK)[-1].syndrome == 0x61
    assert counts(bench) == {"rx_immediate_overflow": 1}


def test_slow_memory_holds_packets_back():
    """More messages than the fence takes: nothing is lost, and all goes on in the end."""

    async def script(bench):
        await bench.send(*(write(0x100 + n, ack_request=1) for n in range(200)))
        await bench.settle(750)

    bench = run(script, psn=0x100, latency=lambda lane: 700)
    cycles = [cycle for cycle, _ in bench.accepted]
    assert cycles[120] - cycles[0] == 3 * 120
    assert cycles[199] - cycles[0] > 700
    assert bench.of(Opcode.ACK)[-1].msn == 200


# ---- failures ------------------------------------------------------------------------------------


def test_a_refused_access_fails_the_qp():
    """One NAK, repeated at most once per base RTT; nothing more is taken."""

    async def script(bench):
        await bench.send(write(0x100, ack_request=1))
        await bench.settle()
        await bench.send(write(0x101, rkey=0xBAD))
        await bench.settle()
        assert [ack.syndrome for ack in bench.of(Opcode.ACK)] == [0x1F, 0x62]
        await bench.send(*(write(0x102 + n) for n in range(5)), probe(1))
        await bench.settle()
        assert len(bench.of(Opcode.ACK)) == 2
        await bench.step(10 * 32)
        await bench.send(write(0x103), write(0x104))
        await bench.settle()

    bench = run(script)
    assert [(ack.syndrome, ack.msn) for ack in bench.of(Opcode.ACK)[1:]] == [(0x62, 1)] * 2
    assert places(bench) == [1] + [0] * 8
    assert counts(bench) == {"rx_access_refused": 1, "rx_qp_failed": 8}


@pytest.mark.parametrize("first", [0x100, 0x13B])
def test_a_nak_waits_for_the_messages_before_it(first):
    """Those that were taken are told of in it, however slow memory is, and none after it."""

    async def script(bench):
        await bench.send(*(write(first + n, ack_request=n != 4) for n in range(1, 9)))
        await bench.send(write(first), write(first + 9, rkey=0xBAD), write(first + 10))
        await bench.settle(600)

    bench = run(script, psn=first, latency=lambda lane: 300)
    acks = bench.of(Opcode.ACK)
    naks = [ack for ack in acks if ack.syndrome == 0x62]
    assert naks
    assert naks == acks[-len(naks) :]  # an ACK that has not left yet becomes a NAK
    assert {nak.msn for nak in naks} == {9}
    assert naks[0].cycle > bench.written[-1][0]


def test_a_refused_write_fails_its_own_qp():
    """And what depends on it is never acknowledged nor delivered, but what does not is."""
    delays = iter([50, -60, 60])

    async def script(bench):
        await bench.set_up(qp_row(qpn=0x111, psn=0))
        await bench.send(
            write(0, dqp=0x111, ack_request=1),
            write(0x100, opcode=Opcode.WRITE_ONLY_IMM, ack_request=1),
            write(1, dqp=0x111, ack_request=1),
        )
        await bench.settle(200)

    bench = run(script, latency=lambda lane: next(delays))
    acks = {0x111 % TINY.qps: [], 0x012 % TINY.qps: []}
    for ack in bench.of(Opcode.ACK):
        acks[ack.qp].append((ack.syndrome, ack.msn))
    assert acks == {0x111 % TINY.qps: [(0x1F, 1), (0x1F, 2)], 0x012 % TINY.qps: [(0x63, 0)]}
    assert bench.completions == []
    assert counts(bench) == {"rx_write_error_0": 1, "rx_message_lost": 1}


@pytest.mark.parametrize(
    ("region", "packet", "taken"),
    [
        ({}, {}, True),
        ({"domain": 6}, {}, False),
        ({"valid": 0}, {}, False),
        ({"remote_write": 0}, {}, False),
        ({"rkey": 0xDEADBEE4}, {}, False),  # another key in the same row
        ({"base": 0x1000, "octets": 16}, {}, True),
        ({"base": 0x1001, "octets": 99}, {}, False),
        ({"base": 0x1000, "octets": 15}, {}, False),
        ({"base": 2**64 - 16, "octets": 16}, {"va": 2**64 - 16}, True),
        ({"base": 2**64 - 16, "octets": 16}, {"va": 2**64 - 8}, False),
        ({"base": 0, "octets": 16}, {"va": 2**64 - 8}, False),
        ({}, {"opcode": Opcode.WRITE_FIRST, "dmalen": 2**32 - 1}, False),
        ({}, {"opcode": Opcode.WRITE_FIRST, "dmalen": 2**31}, True),
        ({}, {"opcode": Opcode.WRITE_LAST, "dmalen": 0x1010}, True),
        ({}, {"opcode": Opcode.WRITE_LAST, "dmalen": 0x1011}, False),
        ({}, {"opcode": Opcode.WRITE_MIDDLE, "dmalen": 15}, False),
        ({}, {"dmalen": 17}, False),
    ],
)
def test_protection(region, packet, taken):
    async def script(bench):
        await bench.set_up(region_row(**region))
        await bench.send(write(0x100, **packet))
        await bench.settle()

    bench = run(script)
    assert places(bench) == [taken]
    assert counts(bench) == ({} if taken else {"rx_access_refused": 1})


# ---- making and unmaking QPs ---------------------------------------------------------------------


def test_a_new_life_starts_clean():
    """Nothing of the former life shows, and its writes are waited for."""

    async def script(bench):
        await bench.send(
            write(0x100, ack_request=1),
            write(0x105, opcode=Opcode.WRITE_ONLY_IMM, rqmsn=3, ack_request=1),
            write(0x101, rkey=0xBAD),
        )
        await bench.set_up(qp_row(psn=0x180, remote_qpn=0x99))
        assert len(bench.written) == 2
        await bench.settle()
        del bench.reports[:]
        await bench.send(write(0x100))  # far behind
        await bench.settle()
        assert last_sack(bench).cack_psn == 0x17F
        for number in range(4):
            await bench.send(
                write(0x180 + number, opcode=Opcode.WRITE_ONLY_IMM, rqmsn=number, ack_request=1)
            )
        await bench.settle(100)

    bench = run(script, latency=lambda lane: 120)
    assert [verdict.place for _, verdict in bench.verdicts[0]] == [1, 1, 0, 0, 1, 1, 1, 1]
    bench.of(Opcode.SACK)
    assert last_sack(bench).dpdcid == 0x99
    assert last_sack(bench).rcvd_bytes == 2
    assert all(ack.syndrome == 0x1F for ack in bench.of(Opcode.ACK))


def test_a_qp_that_was_stopped_is_a_stranger():
    async def script(bench):
        await bench.send(write(0x100))
        await bench.set_up(qp_row(active=0))
        await bench.send(write(0x101))
        await bench.settle()

    bench = run(script)
    assert places(bench) == [1, 0]
    assert counts(bench) == {"rx_unknown_qp": 1}


# ---- cycles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["in order", "reordered", "immediates"])
def test_three_cycles_per_packet(kind):
    """Back to back on one QP, whatever they are, while reports do not even leave."""
    psns = list(range(0x100, 0x100 + 120))
    fields = {"ack_request": 1}
    if kind == "reordered":
        psns.sort(key=lambda psn: psn + random.Random(psn).uniform(0, 30))
    if kind == "immediates":
        fields["opcode"] = Opcode.WRITE_ONLY_IMM

    async def script(bench):
        bench.reports_ready = lambda: False
        packets = [
            write(psn, **fields, rqmsn=(psn - 0x100) * (kind == "immediates")) for psn in psns
        ]
        await bench.send(*packets)

    bench = run(script)
    cycles = [cycle for cycle, _ in bench.accepted]
    assert cycles[-1] - cycles[0] == 3 * (len(psns) - 1)


def test_latency():
    """From a packet that is taken to its verdict, its ACK and its SACK."""

    async def script(bench):
        await bench.send(write(0x100, ack_request=1, octets=0))  # no write to wait for
        await bench.settle()
        await bench.send(write(0x101, ack_request=1))
        await bench.settle()

    bench = run(script)
    (zero, _), (accepted, _) = bench.accepted
    ack, sack = (bench.of(opcode)[0].cycle - zero for opcode in (Opcode.ACK, Opcode.SACK))
    verdict = bench.verdicts[0][0][0] - accepted
    assert (verdict, ack, sack) == (9, 29, 28)

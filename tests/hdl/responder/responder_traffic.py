"""Packets as they may arrive, and the comparison of what they lead to with the reference."""

from itertools import pairwise

from responder_bench import probe, qp_row, region_row, write
from responder_reference import ReferenceQp, distance

from mrcnic.hdl.wire.opcodes import Opcode, Role

SACK_NAMES = ("cack_psn", "sack_offset", "sack_bitmap", "ooo_count", "rcvd_bytes")


def shown(report):
    """Return what a SACK says of the QP."""
    return {name: getattr(report, name) for name in SACK_NAMES}


def message(rng, psn, number, **fields):
    """Return the packets of a message, each with its own place in memory."""
    count = rng.choice([1, 1, 1, 2, 3, 5])
    with_immediate = "rqmsn" in fields
    packets = []
    for n in range(count):
        base = (
            Opcode.WRITE_ONLY if count == 1
            else Opcode.WRITE_FIRST if n == 0
            else Opcode.WRITE_LAST if n == count - 1
            else Opcode.WRITE_MIDDLE
        )  # fmt: skip
        octets = rng.randint(1, 64) if n == count - 1 else 64
        packets.append({
            "psn": psn + n,
            "opcode": base + 1 if with_immediate and n == count - 1 else base,
            "octets": octets,
            "pad": -octets % 4,
            "msn": number,
            "ack_request": n == count - 1,
            "ev": rng.getrandbits(32),
            "tx_timestamp": rng.getrandbits(16),
            "ce": rng.random() < 0.05,
            **fields,
        })
        if number % 7 == 6 and count == 1:
            packets[0] |= {"octets": 0, "pad": 0}
    length = sum(packet["octets"] for packet in packets)
    for n, packet in enumerate(packets):
        packet["va"] = 0x1000 * (number + 1) + 64 * n
        packet["dmalen"] = length
    return packets


def traffic(rng, *, config, dqp, psn, count, depth):
    """Return packets as they may arrive: reordered by at most ``depth`` packets, some twice."""
    packets, number, immediates = [], 0, 0
    while len(packets) < count:
        fields = {"dqp": dqp}
        if rng.random() < 0.4 and immediates < 24:
            fields |= {"rqmsn": immediates, "immediate": rng.getrandbits(32)}
            immediates += 1
        packets += message(rng, psn + len(packets), number, **fields)
        number += 1
    order = sorted(range(len(packets)), key=lambda n: n + rng.uniform(0, depth))
    arrivals = []
    for n in order:
        arrivals.append(packets[n])
        if rng.random() < 0.1:
            arrivals.append(packets[rng.choice(order)] | {"retransmission": 1})
        if rng.random() < 0.05:
            arrivals.append(
                packets[n] | {"psn": psn + len(packets) + config.window + rng.randint(0, 999)}
            )
        if rng.random() < 0.05:
            arrivals.append(packets[n] | {"psn": psn - rng.randint(1, 2**22)})
    # Some are lost, and come again in the end.
    lost = {rng.randrange(len(packets)) for _ in range(len(packets) // 4)}
    arrivals = [packet for packet in arrivals if packet["psn"] - psn not in lost]
    return arrivals + [packets[n] | {"retransmission": 1} for n in sorted(lost)]


def check(bench, qps):
    """Compare everything that came out with the reference."""
    verdicts = [list(lane) for lane in bench.verdicts]
    judged = []
    for cycle, packet in bench.accepted:
        if packet.opcode == Opcode.PROBE:
            continue
        verdict = qps[packet.dqp].take(packet) if packet.dqp in qps else "stranger"
        judged.append((cycle, packet, verdict))
        if packet.payload:
            _, answer = verdicts[packet.lane].pop(0)
            assert answer.place == (verdict == "new"), (packet, verdict)
            if answer.place:
                assert answer.address == packet.body.write.reth.va
                assert answer.octets == packet.octets
    assert not any(verdicts)

    # When each write was in memory: they go in order.
    placed = [item for item in judged if item[2] == "new" and item[1].octets]
    assert len(bench.written) == len(placed)
    in_memory = {}
    for (cycle, address, _), (_, packet, _) in zip(bench.written, placed, strict=True):
        assert address == packet.body.write.reth.va
        in_memory[packet.dqp, packet.psn] = cycle

    for qpn, qp in qps.items():
        index = qpn % bench.config.qps
        check_acks(bench, index, qpn, qp, in_memory)
        check_sacks(bench, index, qpn, qp, judged)
        check_immediates(bench, index, qpn, qp, in_memory)


def memory_time(qp, qpn, psn, in_memory):
    """Return when all packets up to ``psn`` were in memory."""
    count = distance(psn, qp.start) + 1
    return max(in_memory.get((qpn, (qp.start + n) % 2**24), 0) for n in range(count))


def check_acks(bench, index, qpn, qp, in_memory):
    acks = [report for report in bench.of(Opcode.ACK) if report.qp == index]
    for before, after in pairwise(acks):
        assert before.msn <= after.msn
    for ack in acks:
        assert ack.syndrome == 0x1F
        last = qp.messages[ack.msn - 1]
        assert memory_time(qp, qpn, last.psn, in_memory) < ack.cycle
        assert distance(ack.psn, last.psn) >= 0
    if qp.messages:
        assert acks[-1].msn == len(qp.messages)


def check_sacks(bench, index, qpn, qp, judged):
    mine = [item for item in judged if item[1].dqp == qpn]
    known = {}
    for cycle, packet, _ in mine:
        known.setdefault(packet.psn, []).append((cycle, packet))
    sacks = [report for report in bench.of(Opcode.SACK) if report.qp == index]
    for sack in sacks:
        assert sack.spdcid == qpn & 0xFFFF
        assert (sack.role, sack.octets, sack.opcode) == (Role.CONTROL, 0, Opcode.SACK)
        assert distance(sack.base, sack.cack_psn) >= 1
        arrived = {packet.psn for cycle, packet, v in mine if v == "new" and cycle < sack.cycle}
        assert sack.shown <= arrived
        assert distance(sack.cack_psn, qp.start) < 0 or all(
            (qp.start + n) % 2**24 in arrived for n in range(distance(sack.cack_psn, qp.start) + 1)
        )
        if not sack.probe_reply and sack.ack_psn_offset != 0x8000:
            assert any(
                (packet.ev, packet.tx_timestamp, packet.retransmission)
                == (sack.entropy, sack.tx_timestamp, sack.rtx)
                and (packet.ce or not sack.mark)
                for _, packet in known[sack.trigger]
            )
    if any(packet.ce for _, packet, verdict in mine if verdict in ("new", "duplicate")):
        assert any(sack.mark == 1 for sack in sacks)
    # The last one answers a probe, when all was quiet.
    assert sacks[-1].probe_reply == 1
    assert sacks[-1].ack_psn_offset == 0x77
    qp.lowest = qp.expected  # nothing is above cack in the end
    assert shown(sacks[-1]) == qp.sack()


def check_immediates(bench, index, qpn, qp, in_memory):
    delivered = [(cycle, item) for cycle, item in bench.completions if item.qp == index]
    ready = qp.immediates()
    assert [item.immediate for _, item in delivered] == [p.body.write.immediate for p in ready]
    for (cycle, item), packet in zip(delivered, ready, strict=True):
        assert item.octets == packet.body.write.reth.dmalen
        assert memory_time(qp, qpn, packet.psn, in_memory) < cycle


async def compare(bench, rng, *, psn, counts=(20, 40), stall=0):
    """Send random traffic to two QPs and to none, and compare everything with the reference."""
    config = bench.config
    qps = {qpn: ReferenceQp(psn, window=config.window) for qpn in (0x012, 0x111)}
    depth = rng.choice([1, 4, 40])
    streams = [
        traffic(rng, config=config, dqp=qpn, psn=psn, count=rng.choice(counts), depth=depth)
        for qpn in qps
    ]
    streams.append([{"psn": 0, "dqp": 0x013}, {"psn": 0x100, "dqp": 0x022}])  # none; another's
    arrivals = []
    while any(streams):
        arrivals.append(rng.choice([stream for stream in streams if stream]).pop(0))

    await bench.set_up(region_row(), *(qp_row(qpn=qpn, psn=psn) for qpn in qps))
    for fields in arrivals:
        await bench.send(write(**fields, config=config))
        if rng.random() < stall:
            await bench.step(rng.randint(1, 8))
    bench.reports_ready = bench.verdict_ready = bench.o_ready = lambda: True
    await bench.settle(100)
    while any(bench.under_way):
        await bench.step()
    await bench.settle(200)
    await bench.send(*(probe(0x77, dqp=qpn, config=config) for qpn in qps))
    await bench.settle(80)

    check(bench, qps)
    assert bench.events["rx_unknown_qp"] == 2

"""The whole requester against plain Python: all that is asked for is sent and ends, in order."""

import random
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from requester_bench import REQUEST, TINY, Bench, ticks
from requester_reference import segment

from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.wire.psn import psn_add, psn_difference

PMTU = 256
OVERHEAD = 88
CONFIG = TINY

lengths = st.one_of(
    st.builds(lambda n, d: n * PMTU + d, st.integers(1, 3), st.integers(-1, 1)),
    st.sampled_from([0, 1, 4, 20 * PMTU]),
)
requests = st.lists(
    st.fixed_dictionaries({
        "qp": st.integers(0, CONFIG.qps - 1),
        "octets": lengths,
        "with_immediate": st.integers(0, 1),
        "remote_address": st.integers(0, 2**64 - 2**20),
        "local_address": st.integers(0, 2**64 - 2**20),
        "immediate": st.integers(0, 2**32 - 1),
    }),
    max_size=8,
)
rows = st.fixed_dictionaries({
    "tx_psn": st.sampled_from([0xFFFFF0, 0, 0x7FFFFE]),
    "cwnd": st.sampled_from([1, 3 * (PMTU + OVERHEAD), 10_000, (1 << 25) - 1]),
    "max_immediates": st.sampled_from([1, 2, 32]),
    "mpr": st.just(1),
})


class Peer:
    """Takes packets, in any order, and says so; checks what is under way."""

    def __init__(self, bench, row, rng):
        self.bench, self.row, self.rng = bench, row, rng
        self.seen = 0
        self.sent = defaultdict(list)  # by QP, what was allocated
        self.arrived = defaultdict(set)  # by QP, positions in that list
        self.cack = defaultdict(int)  # by QP, packets that arrived without a gap before
        self.told = defaultdict(int)  # by QP, the same, as the requester may know it
        self.acked = defaultdict(int)
        self.retired = defaultdict(set)

    def look(self):
        """Called in each cycle."""
        for _, packet in self.bench.log["allocate"][self.seen :]:
            self.seen += 1
            self.sent[packet.qp].append(packet)
            self._check(packet)
        for qp, packets in self.sent.items():
            if packets and self.rng.random() < 0.2:
                self._progress(qp, packets)

    def _check(self, packet):
        qp, packets = packet.qp, self.sent[packet.qp]
        assert len(packets) - self.told[qp] <= 127
        under_way = [p for n, p in enumerate(packets) if n not in self.retired[qp]]
        credit = sum((p.octets + 3) // 4 * 4 + OVERHEAD for p in under_way)
        assert credit <= self.row["cwnd"] or len(under_way) == 1
        started = len({p.body.meth.msn for p in packets if p.body.meth.msn in self.with_imm[qp]})
        ended = sum(msn in self.with_imm[qp] for msn in range(self.acked[qp]))
        assert started - ended <= self.row["max_immediates"]

    def _progress(self, qp, packets):
        waiting = [n for n in range(len(packets)) if n not in self.arrived[qp]]
        if waiting:
            self.arrived[qp].update(self.rng.sample(waiting[:8], 1))
        while self.cack[qp] in self.arrived[qp]:
            self.cack[qp] += 1
        done = self.cack[qp]
        start = self.row["tx_psn"]
        if self.rng.random() < 0.7:
            bits = sum(1 << n for n in range(64) if done + n in self.arrived[qp])
            self.bench.sack(qp, psn_add(start, done - 1), bitmap=bits)
            self.told[qp] = done
        messages = sum(p.ack_request and self._is_last(p) for p in packets[:done])
        if self.rng.random() < 0.7:
            self.bench.ack(qp, messages)
            self.acked[qp] = messages
        for n in self.arrived[qp] - self.retired[qp]:
            self.retired[qp].add(n)
            self.bench.retire(qp, packets[n].octets)

    @staticmethod
    def _is_last(packet):
        return packet.opcode not in (0xC6, 0xC7)


def fields(packet):
    return {
        "opcode": packet.opcode,
        "psn": packet.psn,
        "msn": packet.body.meth.msn,
        "rqmsn": packet.body.meth.rqmsn,
        "va": packet.body.reth.va,
        "local": packet.local_address,
        "dmalen": packet.body.reth.dmalen,
        "octets": packet.octets,
    }


@settings(max_examples=15)
@given(requests, rows, st.integers(0, 2**32 - 1))
def test_requester_agrees_with_plain_python(asked, row, seed):
    rng = random.Random(seed)
    bench = Bench(CONFIG)
    peer = Peer(bench, row, rng)
    asked = [request | {"identifier": n} for n, request in enumerate(asked)]
    wanted = {qp: [request for request in asked if request["qp"] == qp] for qp in range(CONFIG.qps)}
    peer.with_imm = {
        qp: {
            msn
            for msn, request in enumerate(r for r in wanted[qp] if r["octets"])
            if request["with_immediate"]
        }
        for qp in wanted
    }

    async def scenario(ctx):
        await bench.open(ctx, *range(CONFIG.qps), **row)
        for request in asked:
            bench.feed["i"].append(REQUEST | request)
        bench.hooks.append(peer.look)
        while len(bench.log["o"]) < len(asked):
            ctx.set(bench.dut.allocate.ready, rng.random() < 0.7)
            await ctx.tick()
        await ticks(ctx, 10)

    bench.run(scenario, max_cycles=6000)

    for qp, requests_ in wanted.items():
        packets = segment(requests_, tx_psn=row["tx_psn"], pmtu=PMTU)
        sent = peer.sent[qp]
        assert [fields(packet) for packet in sent] == [
            {name: packet[name] for name in fields(sent[0])} for packet in packets
        ]
        for packet, other in zip(sent, packets, strict=True):
            assert packet.ack_request or not other["last"]
            if other["immediate"] is not None:
                assert packet.body.immediate == other["immediate"]
        ends = [(end.identifier, end.status) for end in bench.payloads("o") if end.qp == qp]
        assert ends == [
            (request["identifier"], Status.OK if request["octets"] else Status.REFUSED)
            for request in requests_
        ]
    for a in bench.payloads("acknowledgement"):
        assert psn_difference(a.cack, row["tx_psn"]) >= -1
    assert not bench.events["sack_never_sent"]
    assert not bench.events["ack_never_sent"]

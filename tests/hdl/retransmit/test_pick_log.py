from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.pick_log import PickLog
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2)


def pick(qp, slot, opcode=Opcode.WRITE_ONLY, ev_index=0):
    return {"qp": qp, "opcode": int(opcode), "slot": slot, "octets": 1, "ev_index": ev_index}


def test_stamps_count_the_sends_of_each_qp_back_to_back():
    dut = PickLog(CONFIG, readers=1)
    picks = [
        pick(0, 0), pick(0, 1), pick(1, 2), pick(0, 3), pick(0, 0, Opcode.SACK),
        pick(0, 9, Opcode.PROBE), pick(0, 4), pick(1, 5, ev_index=7),
    ]  # fmt: skip

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.picked_valid, 1)
        for now, picked in enumerate(picks):
            ctx.set(dut.now, now)
            ctx.set(dut.picked, picked)
            await ctx.tick()
        ctx.set(dut.picked_valid, 0)
        for _ in range(2):
            await ctx.tick()
        stamps = {}
        for slot in range(6):
            ctx.set(dut.slot[0], slot)
            await ctx.tick()
            stamps[slot] = ctx.get(dut.sent[0].stamp)
        assert stamps == {0: 1, 1: 2, 3: 3, 4: 5, 2: 1, 5: 2}
        last = []
        for qp in (0, 1):
            ctx.set(dut.qp, qp)
            await ctx.tick()
            last.append(ctx.get(dut.last))
        assert last[0].probe_stamp == 4
        assert last[0].sent.stamp == 5
        assert last[1].sent.ev_index == 7

    simulate(dut, bench)


def test_a_pick_can_be_read_three_cycles_later():
    dut = PickLog(CONFIG, readers=1)

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.slot[0], 3)
        ctx.set(dut.picked, pick(0, 3, ev_index=5))
        ctx.set(dut.picked_valid, 1)
        await ctx.tick()
        ctx.set(dut.picked_valid, 0)
        seen = []
        for _ in range(5):
            seen.append(ctx.get(dut.sent[0].ev_index))
            await ctx.tick()
        assert seen == [0, 0, 0, 5, 5]  # written three cycles after the pick, read one more

    simulate(dut, bench)

"""The on-chip test: it passes, and goes on when a T1 switch dies."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from mrcnic.boards.selftest.selftest import COUNTED

NICS = 2


def counters(dut, name):
    place = COUNTED.index(name)
    handles = [getattr(dut, f"counters__{n * len(COUNTED) + place}") for n in range(NICS)]
    return [int(handle.value) for handle in handles]


async def wait(dut, what, *, cycles):
    """Wait until ``what`` is true, looked at now and then; fail after so many cycles."""
    for _ in range(cycles // 20):
        if what():
            return
        await ClockCycles(dut.clk, 20)
    raise AssertionError({name: counters(dut, name) for name in COUNTED})


@cocotb.test()
async def failover(dut):
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    dut.dead.value = 0
    dut.loss.value = 0
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await wait(dut, lambda: int(dut.ready.value) == 0b11, cycles=6000)
    await wait(dut, lambda: min(counters(dut, "msgs")) >= 1, cycles=4000)
    assert counters(dut, "octets") >= [4096, 4096]

    dut.dead.value = 0b0001
    await wait(dut, lambda: sum(counters(dut, "dead")) >= 1, cycles=4000)
    before = counters(dut, "msgs")

    def went_on():
        return all(now >= then + 2 for now, then in zip(counters(dut, "msgs"), before, strict=True))

    await wait(dut, went_on, cycles=20_000)
    assert int(dut.bad.value) == 0
    for name in ("fails", "wrong", "stray", "lost"):
        assert counters(dut, name) == [0, 0]

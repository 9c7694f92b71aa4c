"""uSID carriers."""

import random

import pytest
from amaranth.sim import Simulator

from mrcnic.hdl.wire.usid_expander import UsidExpander


def expand(cases):
    dut = UsidExpander()
    carriers = []

    async def bench(ctx):
        for template, plane_slots, uplink_slots, ev in cases:
            ctx.set(dut.template, template)
            ctx.set(dut.plane_slots, plane_slots)
            ctx.set(dut.uplink_slots, uplink_slots)
            ctx.set(dut.ev, ev)
            await ctx.delay(1e-9)
            carriers.append(ctx.get(dut.carrier))

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()
    return carriers


def test_carrier_of_the_protocols_example():
    """Plane 2: T0 1, T1 1, T0 2, downlink 5 (docs/protocol.md, vector V8)."""
    (carrier,) = expand([
        (0xFCBBBBBB_0401_0800_0402_0C05_0000_0000, 0b001111, 0b000010, 0xC0052010)
    ])
    assert carrier == 0xFCBBBBBB_2401_2801_2402_2C05_0000_0000


@pytest.mark.parametrize("slot", range(6))
def test_all_16_bits_of_a_usid_come_through(slot):
    """B020."""
    templates = [(1 << bit) << 80 - 16 * slot for bit in range(16)]
    assert expand([(t, 0, 0, 0xFFFFFFFF) for t in templates]) == templates
    place = 80 - 16 * slot
    (carrier,) = expand([(0x03FF << place, 1 << slot, 0, 0x0000F000)])
    assert carrier == 0xF3FF << place
    (carrier,) = expand([(0, 0, 1 << slot, 0xFFFF0FFF)])
    assert carrier == 0x00FF << place


def test_any_template():
    seed = 3
    print(f"seed {seed}")
    rng = random.Random(seed)
    cases = [tuple(rng.getrandbits(n) for n in (128, 6, 6, 32)) for _ in range(50)]
    expected = []
    for template, plane_slots, uplink_slots, ev in cases:
        usids = [template >> 80 - 16 * n & 0xFFFF for n in range(6)]
        for n in range(6):
            if plane_slots >> n & 1:
                usids[n] |= (ev >> 12 & 0xF) << 12
            if uplink_slots >> n & 1:
                usids[n] |= ev >> 4 & 0xFF
        carrier = template >> 96 << 96
        expected.append(carrier | sum(usid << 80 - 16 * n for n, usid in enumerate(usids)))
    assert expand(cases) == expected

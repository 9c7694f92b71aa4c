import random

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.responder.protection import Protection
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(regions=4, mtu=1024)


def allowed(region, packet, domain):
    """Say the same in plain Python, where numbers have no end."""
    if packet["octets"] == 0:
        return True
    first, last = packet["first"], packet["last"]
    start, octets, length = packet["va"], packet["octets"], packet["dmalen"]
    end = start + (length if first else octets)
    if last:
        start = min(start, start + octets - length)
    return bool(
        region["valid"]
        and region["remote_write"]
        and region["rkey"] == packet["rkey"]
        and region["domain"] == domain
        and octets <= length <= region["octets"]
        and (not (first and last) or octets == length)
        and region["base"] <= start
        and end <= region["base"] + region["octets"]
    )


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_python(seed):
    """A packet in each third cycle, near every edge; the answer four cycles after phase 1."""
    rng = random.Random(seed)
    dut = Protection(CONFIG)
    cases = []
    for _ in range(150):
        base = rng.choice([0, 0x1000, 2**64 - 64, 2**63])
        size = rng.choice([1, 16, 64, 2**32, 2**64 - 1])
        region = {
            "valid": rng.random() < 0.95,
            "remote_write": rng.random() < 0.95,
            "rkey": rng.choice([1, 5]),
            "base": base,
            "octets": size,
            "domain": rng.choice([3, 3, 3, 4]),
        }
        octets = rng.choice([0, 1, 15, 16, 64, 1024])
        near = rng.choice([base, base + size - octets, base + size])
        packet = {
            "va": (near + rng.randint(-2, 2)) % 2**64,
            "rkey": rng.choice([1, 1, 1, 5]),
            "octets": octets,
            "dmalen": min(
                max(0, rng.choice([octets, 16, 64, size]) + rng.randint(-1, 1)), 2**32 - 1
            ),
            "first": rng.randint(0, 1),
            "last": rng.randint(0, 1),
        }
        if rng.random() < 0.5:
            packet["dmalen"] = octets
        cases.append((region, packet))

    async def bench(ctx):
        answers = []
        for region, packet in [*cases, cases[0]]:
            for phase in (0, 1, 2):
                ctx.set(dut.phase, phase)
                if phase == 0:
                    ctx.set(dut.write_valid, 1)
                    ctx.set(dut.write_index, 1)
                    ctx.set(dut.write_row, region)
                else:
                    ctx.set(dut.write_valid, 0)
                if phase == 1:
                    ctx.set(dut.i.packet, packet)
                    ctx.set(dut.domain, 3)
                if phase == 2:
                    answers.append(ctx.get(dut.allowed))
                await ctx.tick()
        expected = [allowed(region, packet, 3) for region, packet in cases]
        assert answers[1:] == expected
        assert 0.1 < sum(expected) / len(expected) < 0.9

    simulate(dut, bench)

"""EV states of a plane against the reference model, an operation per cycle."""

import os

import pytest
from ev_history import PLANE, History, configuration

from mrcnic.hdl.spray.ev_state import EvState
from mrcnic.sim.bench.streams import simulate

#: Sequences of operations from a fresh start; the gate has 10,000.
SEQUENCES = int(os.environ.get("MRCNIC_SEQUENCES", "300"))

SIZES = (1, 2, 3, 5, 8)


def run_history(history, *, cycles=0, sequences=0):
    dut = EvState(configuration(history.evs), plane=PLANE)

    async def bench(ctx):
        while history.cycle < cycles or history.sequences < sequences:
            inputs, expected = history.step()
            ctx.set(dut.valid, "i" in inputs)
            ctx.set(dut.i, inputs.get("i", {}))
            ctx.set(dut.masked, inputs.get("masked", {"evs": 0, "all": 0}))
            ctx.set(dut.chance, inputs.get("chance", 0))
            ctx.set(dut.wins, inputs.get("wins", 0))
            ctx.set(dut.enough, inputs.get("enough", 0))
            ctx.set(dut.profile, inputs.get("profile", {}))
            _, _, flags, hits, local = await ctx.tick().sample(dut.flags, dut.hits, dut.local)
            if "flags" in expected:
                assert (flags.some, flags.several, flags.bad) == expected["flags"]
            if "hits" in expected:
                name, active = expected["hits"]
                assert [n for n in ("good", "skip", "bad", "denied") if hits[n]] == [name] * bool(
                    name
                )
                assert hits.active == active
            if "local" in expected:
                assert local == expected["local"]

    simulate(dut, bench, max_cycles=cycles + 20 * sequences + 1000)


@pytest.mark.parametrize("evs", SIZES)
def test_short_sequences_are_those_of_the_model(evs, seed):
    """Operations of four QPs, in any order, one in each cycle."""
    run_history(History(evs, seed=seed, length=10), sequences=SEQUENCES // len(SIZES))


@pytest.mark.parametrize(("evs", "cycles"), [(8, 600), (32, 400), (128, 100)])
def test_long_sequences_are_those_of_the_model(evs, cycles, seed):
    run_history(History(evs, seed=seed, length=60), cycles=cycles)

"""EV states of a plane against the reference model, an operation per cycle."""

import pytest
from ev_history import PLANE, History, configuration

from mrcnic.hdl.spray.ev_state import EvState
from mrcnic.sim.bench.streams import simulate


def run_history(history, cycles):
    dut = EvState(configuration(history.evs), plane=PLANE)

    async def bench(ctx):
        for _ in range(cycles):
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

    simulate(dut, bench, max_cycles=cycles + 10)


@pytest.mark.parametrize(
    ("evs", "cycles"), [(1, 150), (2, 400), (3, 400), (5, 500), (8, 1000), (32, 400), (128, 100)]
)
def test_states_are_those_of_the_model(evs, cycles, seed):
    history = History(evs, seed=seed, length=10 if evs < 8 else 60)
    run_history(history, cycles)

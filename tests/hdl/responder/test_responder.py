import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from responder_bench import Bench
from responder_traffic import compare


@pytest.mark.parametrize("stall", [0, 0.5])
@given(seed=st.integers(0, 2**32), psn=st.sampled_from([0, 0x100, 0xFFFFF0, 0xFFFFFF]))
@settings(max_examples=3)
def test_against_reference(stall, seed, psn):
    rng = random.Random(seed)

    def ready():
        return rng.random() >= stall

    bench = Bench(
        latency=lambda lane: rng.randint(1, 60),
        reports_ready=ready,
        verdict_ready=ready,
        o_ready=ready,
    )
    bench.run(lambda bench: compare(bench, rng, psn=psn, stall=stall))

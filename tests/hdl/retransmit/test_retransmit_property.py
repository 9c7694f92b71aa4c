"""Anything may happen on the way; everything arrives, once, as it was in memory."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from retransmit_world import World

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.psn import psn_add

CONFIG = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2, lanes=1, evs=16)

packets = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([1, 7, 8, 9, 64, 255, 256])),
    min_size=1,
    max_size=24,
)


@settings(max_examples=5, deadline=None)
@given(
    packets=packets,
    lanes=st.sampled_from([1, 2]),
    loss=st.sampled_from([0, 0.1, 0.4]),
    refusal=st.sampled_from([0, 0.2]),
    ack_loss=st.sampled_from([0, 0.3]),
    pause=st.sampled_from([0, 0.3]),
    flaps=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_all_packets_retire(packets, lanes, loss, refusal, ack_loss, pause, flaps, seed):
    world = World(
        CONFIG.override(lanes=lanes), seed=seed, base_rtt=12, target_delay=4, timeout=2,
        linear=7, exponential=25,
    )  # fmt: skip
    rng = random.Random(seed)
    world.lose = lambda key: rng.random() < loss
    world.refuse = lambda key: (
        rng.choice([0x01, 0x02, 0x06, 0x07, 0x0A, 0x0B]) if rng.random() < refusal else None
    )
    world.delay = lambda: rng.randint(20, 60)
    world.pause = lambda: rng.random() < pause
    report = world.report
    world.report = lambda *given, **more: rng.random() < ack_loss or report(*given, **more)
    if flaps:
        for cycle in range(300, 2_000, 300):
            world.after(cycle, lambda: setattr(world, "up", rng.randint(1, (1 << lanes) - 1)))

    keys = []
    for qp in (0, 1):
        world.create(qp, psn_add(0, -rng.randint(0, 200)))
    for qp, octets in packets:
        keys.append((qp, world.allocate(qp, octets)))
    world.run(5_000, until=lambda w: len(w.retired) == len(keys), settle=200)

    assert all(count == 1 for count in world.retired.values())
    assert set(world.retired) == set(keys)
    assert not world.happened("failed")
    firsts = [entry[2:4] for entry in world.happened("send")]
    assert sorted(firsts) == sorted(keys), "each is new once"
    assert world.occupied == 0

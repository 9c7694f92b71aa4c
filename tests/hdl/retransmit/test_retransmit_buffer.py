import random

import pytest
from retransmit_world import World

from mrcnic.hdl.config import NicConfig

SMALL = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2, lanes=1, evs=16)
TWO = SMALL.override(lanes=2)
THREE = SMALL.override(lanes=3, evs=15)


def lap(world):
    return world.config.slots


def all_retired(count):
    return lambda world: len(world.retired) == count and not world.queues.get("allocate")


def sends(world, what="send"):
    return [(entry[2], entry[3]) for entry in world.happened(what)]


@pytest.mark.parametrize("config", [SMALL, TWO, THREE], ids=lambda c: f"{c.lanes} lanes")
def test_packets_go_out_and_retire(config):
    world = World(config)
    world.create(0, 0xFFFFF0)  # wraps
    world.create(1, 5)
    rng = random.Random(1)
    keys = []
    for n in range(40):
        qp = n % 3 == 0
        keys.append((int(qp), world.allocate(int(qp), rng.randint(1, 256))))
    world.run(6_000, until=all_retired(40))
    assert sorted(sends(world)) == sorted(keys)
    assert not world.happened("resend")
    assert all(world.retired[key] == 1 for key in keys)
    assert world.occupied == 0

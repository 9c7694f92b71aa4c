import random

from mrcnic.sim.model.paths import EvState
from mrcnic.sim.model.spray import Spray
from mrcnic.sim.model.watch import Watch

PLANE_OF = {0: 0, 1: 0, 2: 1}
TIMES = {"delay_ns": 100, "delay_max_ns": 350, "timeout_ns": 60, "interval_ns": 10}


def watch(**times):
    return Watch(PLANE_OF, **{**TIMES, **times})


def test_the_first_probe_is_due_after_the_delay():
    watched = watch()
    watched.start(1, 5)
    assert watched.due(104, usable=[0, 1]) is None
    ev, probe_id = watched.due(105, usable=[0, 1])
    assert (ev, probe_id >> 8) == (1, 1)
    assert watched.due(110, usable=[0, 1]) is None, "one at a time"


def test_a_plane_that_cannot_be_used_is_not_probed():
    watched = watch()
    watched.start(2, 0)
    assert watched.due(100, usable=[0]) is None
    assert watched.due(100, usable=[1])


def test_probes_of_a_plane_keep_their_distance():
    watched = watch()
    for ev in PLANE_OF:
        watched.start(ev, 0)
    probed = {now: watched.due(now, usable=[0, 1]) for now in (100, 101, 109, 110)}
    assert [probe and probe[0] for probe in probed.values()] == [0, 2, None, 1]


def test_waits_double_until_the_longest():
    watched, now, waits = watch(), 0, []
    watched.start(0, now)
    for _ in range(4):
        began = now
        while not watched.due(now, usable=[0]):
            now += 1
        waits.append(now - began)
        while not watched.missed(now):
            now += 1
    assert waits == [100, 200, 350, 350]


def test_three_answers_end_it_and_a_stale_one_is_none():
    watched, now = watch(), 0
    watched.start(0, now)
    for _ in range(3):
        now += 100
        _, probe_id = watched.due(now, usable=[0])
        assert watched.answered(probe_id ^ 1, now) is None
        assert watched.answered(probe_id, now) == 0
        assert watched.answered(probe_id, now) is None
    assert watched.due(now + 1000, usable=[0]) is None


def test_an_answer_from_before_another_failure_counts_no_more():
    watched = watch()
    watched.start(0, 0)
    _, probe_id = watched.due(100, usable=[0])
    watched.start(0, 101)
    assert watched.answered(probe_id, 102) is None


def test_nothing_but_probes_brings_an_ev_back():
    spray = Spray([[0, 1]], rng=random.Random(1), **TIMES)
    spray.blame(0, 0)
    for now in range(100, 10_000, 50):
        assert spray.pick(usable=[0]) == 1
        spray.probe(now, usable=[0])
    answers = 0
    while spray.paths[0].state[0] is EvState.ASSUMED_BAD:
        now += 50
        if probe := spray.probe(now, usable=[0]):
            spray.answer(probe[1], now)
            answers += 1
    assert answers == 3
    assert {spray.pick(usable=[0]) for _ in range(4)} == {0, 1}

import json

import pytest
from scenario_logs import bad, good, log, lost, probe, write

from mrcnic.sim.scenarios.history import History


def history(*parts, **rest):
    return History(json.loads(json.dumps(log(*parts, **rest))))


def test_a_loss_is_repaired_when_the_packet_arrives():
    (loss,) = history(lost(10, 7, 4), write(30, 7, 40), write(31, 8, 4)).losses
    assert (loss.sent_us, loss.lost_us, loss.ev, loss.repaired_us) == (10, 11, 4, 33)


def test_a_loss_of_what_is_there_already_needs_no_repair():
    (loss,) = history(write(1, 7, 40), lost(10, 7, 4)).losses
    assert loss.repaired_us == loss.lost_us == 11


def test_a_loss_may_never_be_repaired():
    (loss,) = history(lost(10, 7, 4), write(30, 7, 40, qp=1)).losses
    assert loss.repaired_us is None


def test_first_losses_are_those_of_each_qp_and_ev():
    seen = history(lost(5, 1, 4), lost(10, 2, 4), lost(11, 3, 4), lost(12, 4, 5), lost(9, 5, 6))
    found = seen.first_losses({4, 5}, since_us=8)
    assert {key: loss.sent_us for key, loss in found.items()} == {(0, 4): 10, (0, 5): 12}


@pytest.mark.parametrize(
    ("news", "time_us", "out_us"),
    [
        ((), 10, None),
        ((bad(20, 4),), 10, 20),
        ((bad(5, 4),), 10, 5),  # it was out of use already: that was sent before
        ((bad(5, 4), good(8, 4), bad(20, 4)), 10, 20),
        ((bad(5, 4), good(8, 4)), 10, None),
        ((bad(20, 4, qp=1), bad(20, 5)), 10, None),
    ],
)
def test_when_an_ev_went_out_of_use(news, time_us, out_us):
    assert history(*news).out_after(0, 4, time_us) == out_us


def test_answers_to_probes_count_if_the_probe_was_sent_in_that_time():
    seen = history(probe(10, 4, 2), probe(20, 4, 3), probe(30, 4, 4, answered=False))
    assert seen.answers_before(0, 4, 40, since_us=5) == 2
    assert seen.answers_before(0, 4, 40, since_us=12) == 1
    assert seen.answers_before(0, 4, 24, since_us=5) == 1
    assert seen.answers_before(0, 5, 40, since_us=5) == 0


def test_shares_of_planes_in_any_window():
    fair = history(*(write(n, n, 32 * (n % 2)) for n in range(100)))
    assert fair.share_error(2, window=10, evs_per_plane=32) == 0
    late = history(*(write(n, n, 32 * (n % 2 and n < 90)) for n in range(100)))
    assert late.share_error(2, window=10, evs_per_plane=32) == 1
    assert late.share_error(2, window=1000, evs_per_plane=32) == pytest.approx(0.1)
    assert history().share_error(2, window=10, evs_per_plane=32) == 0


def test_evs_out_of_use_at_a_time():
    seen = history(bad(10, 4), bad(11, 4, qp=1), bad(12, 9), good(20, 4))
    assert [seen.out_of_use({4}, time_us) for time_us in (9, 10.5, 15, 25)] == [0, 1, 2, 1]


def test_first_and_last_write():
    seen = history(write(10, 1, 4), write(20, 2, 4, qp=1), write(30, 3, 5))
    assert seen.last_write({4}).number == 2
    assert seen.last_write({4}, qp=0).number == 1
    assert seen.last_write({4}, before_us=15).number == 1
    assert seen.last_write({6}) is None
    assert seen.first_write({4}, since_us=15).number == 2
    assert seen.first_write({4}, since_us=25) is None
    assert seen.end_us == 30
    assert seen.writes_of_qp_after(0, 10, within_us=25) == 1

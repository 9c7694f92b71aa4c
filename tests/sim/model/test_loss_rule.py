import pytest

from mrcnic.sim.model.loss_rule import is_lost

BASE = {"stamp": 10, "highest_stamp": 14, "age_ns": 101, "reorder_packets": 3, "threshold_ns": 100}


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({}, True),
        ({"highest_stamp": 13}, False),  # three later sends may be reordering
        ({"highest_stamp": 13, "waived": True}, True),  # not when a probe has answered
        ({"highest_stamp": 10, "waived": True}, False),  # nothing sent later has arrived
        ({"age_ns": 100}, False),
    ],
)
def test_order_and_time_must_both_say_so(changes, lost):
    assert is_lost(**{**BASE, **changes}) is lost

import random

import pytest

from mrcnic.sim.fabric.fabric import Fabric
from mrcnic.sim.fabric.faults import (
    Fault,
    corrupt_if,
    corrupted,
    delay_if,
    drop_if,
    duplicate_if,
    parse_fault,
)
from mrcnic.sim.fabric.times import parse_time
from mrcnic.sim.fabric.topology import default_topology

TOPOLOGY = default_topology(planes=1, spines=2)
US = 10**6


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("p0t10@20us", (Fault(target="p0t10", time_ps=20 * US),)),
        (
            "p0t10@20us-50us",
            (
                Fault(target="p0t10", time_ps=20 * US),
                Fault(target="p0t10", time_ps=50 * US, up=True),
            ),
        ),
        ("+p0t10@1ms", (Fault(target="p0t10", time_ps=1000 * US, up=True),)),
        ("p0t00-p0t10@1.5us", (Fault(target=("p0t00", "p0t10"), time_ps=1_500_000),)),
        ("p0t10-p0t00@0ns", (Fault(target=("p0t00", "p0t10"), time_ps=0),)),
        ("b0@3us", (Fault(target=("b0", "p0t01"), time_ps=3 * US),)),
        (
            "p0t10@1us-2us:drop=0.1,ecn_octets=4096",
            tuple(
                Fault(
                    target="p0t10",
                    time_ps=n * US,
                    up=n == 2,
                    worse=(("drop", 0.1), ("ecn_octets", 4096)),
                )
                for n in (1, 2)
            ),
        ),
    ],
)
def test_parse(text, faults):
    assert parse_fault(text, TOPOLOGY) == faults


NODES = "p0t00, p0t01, p0t10, p0t11, a0, b0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p9t10@20us", f"there is no node p9t10; the nodes are {NODES}"),
        ("p0t00-x@20us", f"there is no node x; the nodes are {NODES}"),
        ("@20us", f"there is no node ; the nodes are {NODES}"),
        ("p0t00-p0t01@20us", "there is no link between p0t00 and p0t01"),
        ("p0t10", "a failure must be NODE@TIME or NODE@TIME-TIME, not 'p0t10'"),
        ("p0t10@20", "a time must be a number with ps, ns, us, ms, s behind it, not '20'"),
        ("p0t10@-5us", "a time must be a number with ps, ns, us, ms, s behind it, not ''"),
        ("p0t10@20us-20us", "the end of a failure must be after its start, and '20us-20us' is"),
        ("p0t10@1us:loss=1", "there is no setting loss of links; they are rate_bps, delay_ps,"),
        ("p0t10@1us:trim=yes", "trim must be a number, not 'yes'"),
        ("p0t10@1us:drop=2", "drop must be from 0 to 1, not 2"),
        ("+p0t10@20us-30us", "what comes back does so at one time, not '20us-30us'"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_fault(text, TOPOLOGY)
    assert "\n" not in str(caught.value)


def test_times():
    times = [parse_time(text) for text in ("7ps", "7ns", "0.25 us", "7ms", "7s")]
    assert times == [7, 7000, 250_000, 7 * 10**9, 7 * 10**12]


def test_meddlers():
    def odd(frame, time_ps, place):
        return frame[0] % 2 == 1

    assert drop_if(odd)(b"\1", 0, "") == ()
    assert delay_if(odd, 5)(b"\1", 0, "") == ((5, b"\1"),)
    assert duplicate_if(odd, 5)(b"\1", 0, "") == ((0, b"\1"), (5, b"\1"))
    for meddler in (drop_if(odd), delay_if(odd, 5), duplicate_if(odd)):
        assert meddler(b"\2", 0, "") is None


def test_what_is_said_of_a_fault():
    assert str(Fault(target="p0t10", time_ps=0)) == "p0t10 down"
    assert str(Fault(target=("a0", "p0t00"), time_ps=0, up=True)) == "a0-p0t00 back"
    assert str(Fault(target="p0t10", time_ps=0, worse=(("drop", 0.1),))) == "p0t10 worse"
    again = Fault(target="p0t10", time_ps=0, up=True, worse=(("drop", 0.1),))
    assert str(again) == "p0t10 as before"


def test_links_are_worse_for_a_while():
    fabric = Fabric(TOPOLOGY, faults=parse_fault("p0t00-p0t11@1us-2us:drop=0.5", TOPOLOGY))
    worse, other = fabric.links["p0t11-p0t00"], fabric.links["p0t00-p0t10"]
    for time_ps, drop in ((0, 0), (1 * US, 0.5), (2 * US, 0)):
        fabric.advance(time_ps)
        assert (worse.settings.drop, other.settings.drop) == (drop, 0)
        assert worse.up


def test_corruption_changes_a_few_bits_or_cuts_the_end(seed):
    rng = random.Random(seed)
    frame = rng.randbytes(200)
    cuts = 0
    for _ in range(300):
        changed = corrupted(frame, rng)
        if len(changed) < len(frame):
            cuts += 1
            assert frame.startswith(changed)
            assert changed
            continue
        difference = int.from_bytes(frame) ^ int.from_bytes(changed)
        assert difference.bit_count() in (1, 2, 3)
        assert difference.bit_length() - (difference & -difference).bit_length() < 32
    assert 0 < cuts < 100


def test_corrupt_if_leaves_others_alone():
    meddler = corrupt_if(lambda frame, time_ps, place: frame[0] == 1, random.Random(0))
    assert meddler(bytes(100), 0, "a0-p0t00") is None
    ((delay, frame),) = meddler(bytes([1] * 100), 0, "a0-p0t00")
    assert delay == 0
    assert frame != bytes([1] * 100)

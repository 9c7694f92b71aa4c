"""Generated profiles."""

from collections import Counter

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.srv6 import ENTROPY
from mrcnic.sim.driver.generated import EvField, generate_evs

CONFIG = NicConfig(lanes=8, evs=128)
PLANE = EvField(bits=4, maximum=7)
REST = EvField(bits=4, maximum=0)


def test_planes_and_uplinks_are_dealt_without_any_correlation():
    """128 EVs over 8 planes and 16 uplinks: each pair exactly once (B076)."""
    planes = generate_evs(CONFIG, [PLANE, EvField(bits=8, maximum=15), REST], backups=4)
    pairs = Counter()
    for plane, evs in enumerate(planes):
        assert [ev.active for ev in evs] == [True] * 12 + [False] * 4
        for n, ev in enumerate(evs):
            fields = ENTROPY.unpack(ev.ev.to_bytes(4))
            assert fields["index"] == plane * 16 + n
            assert fields["plane"] == plane
            pairs[plane, fields["uplink"]] += 1
    assert pairs == Counter({(plane, uplink): 1 for plane in range(8) for uplink in range(16)})


def test_the_most_significant_field_comes_first():
    config = NicConfig(lanes=1, evs=8)
    fields = [
        EvField(bits=4, maximum=0),
        EvField(bits=8, initial=5, minimum=4, maximum=7, mask=0b01),
        EvField(bits=4, initial=1, minimum=1, maximum=2),
    ]
    (evs,) = generate_evs(config, fields)
    assert [ev.ev & 0xFFFF for ev in evs] == [0x51, 0x41, 0x52, 0x42]


@pytest.mark.parametrize(
    ("fields", "backups", "message"),
    [
        ([PLANE, REST], 0, "fields must have 16 bits together, not 8"),
        ([EvField(bits=4, maximum=8), EvField(bits=12)], 0, "planes must be from 0 to 7, not 8"),
        ([PLANE, EvField(bits=12)], 0, "plane 0 of a profile must have 16 EVs at most"),
        ([PLANE, EvField(bits=12, maximum=3)], 4, "backups must be from 0 to 3, not 4"),
    ],
)
def test_impossible_fields_are_refused(fields, backups, message):
    with pytest.raises(ValueError) as error:
        generate_evs(CONFIG, fields, backups=backups)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"bits": 0}, "bits must be from 1 to 16, not 0"),
        ({"bits": 4, "maximum": 16}, "maximum must be from 0 to 15, not 16"),
        ({"bits": 4, "minimum": 9, "maximum": 8}, "minimum must be from 0 to 8, not 9"),
        ({"bits": 4, "minimum": 1}, "initial must be from 1 to 15, not 0"),
    ],
)
def test_impossible_ranges_are_refused(field, message):
    with pytest.raises(ValueError) as error:
        EvField(**field)
    assert str(error.value) == message

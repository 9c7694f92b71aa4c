from ipaddress import IPv6Address

import pytest

from mrcnic.sim.codec.usid import (
    CarrierTemplate,
    Usid,
    UsidKind,
    active_usid,
    carrier,
    carrier_usids,
    shift,
)


def address(text):
    return int(IPv6Address(text))


def test_usid_keeps_all_its_bits():
    assert Usid(15, 0, 0x3FF).pack() == 0xF3FF
    for bit in range(16):
        assert Usid.unpack(1 << bit).pack() == 1 << bit
        for slot in range(6):
            usids = [0x2401] * slot + [1 << bit]
            assert carrier_usids(carrier(0x5F000001, usids)) == usids


def test_walk():
    """The block stays in its place, and the uSIDs move up."""
    path = ["2401:2801:2402:2c05", "2801:2402:2c05", "2402:2c05", "2c05"]
    there = address(f"5f00:1:{path[0]}::")
    for expected in path:
        assert there == address(f"5f00:1:{expected}::")
        assert active_usid(there) == int(expected[:4], 16)
        there = shift(there)
    assert there == address("5f00:1::")


def test_six_usids_need_no_end():
    usids = [0x2401, 0x2801, 0x2402, 0x2802, 0x2403, 0x2C05]
    full = carrier(0x5F000001, usids)
    assert full == address("5f00:1:2401:2801:2402:2802:2403:2c05")
    assert carrier_usids(full) == usids
    with pytest.raises(ValueError, match=r"^a carrier holds at most 6 uSIDs, not 7$"):
        carrier(0x5F000001, [*usids, 0x2C06])
    with pytest.raises(ValueError, match=r"^a uSID must be from 1 to 65535, not 0$"):
        carrier(0x5F000001, [0x2401, 0, 0x2C05])


@pytest.mark.parametrize("plane", range(8))
def test_template_takes_plane_and_uplink(plane):
    template = CarrierTemplate(
        carrier=carrier(0x5F000001, [0x0401, 0x0800, 0x0402, 0x0C05]),
        plane_slots=0b1111,
        uplink_slots=0b10,
    )
    expanded = template.expand(0xC0050010 | plane << 12)
    assert expanded == address(f"5f00:1:{plane}401:{plane}801:{plane}402:{plane}c05::")


def test_template_under_one_t0():
    """No uSID takes the uplink, and the unused ones stay zero, which ends the list."""
    template = CarrierTemplate(
        carrier=carrier(0xFCBBBBBB, [0x0401, 0x0C02]), plane_slots=0b11, uplink_slots=0
    )
    assert template.expand(0xC0013FF0) == address("fcbb:bbbb:3401:3c02::")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((16, 1, 0), "^plane of a uSID must be below 16, not 16$"),
        ((0, 4, 0), "^kind of a uSID must be below 4, not 4$"),
        ((0, UsidKind.NIC, 1024), "^index of a uSID must be below 1024, not 1024$"),
    ],
)
def test_limits(fields, message):
    with pytest.raises(ValueError, match=message):
        Usid(*fields).pack()

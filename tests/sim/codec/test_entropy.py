import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrcnic.sim.codec.entropy import EvFields, ev_from_wire, ev_to_wire


def test_literal():
    assert EvFields(index=5, plane=2, uplink=1).pack() == 0xC0052010
    assert EvFields(index=255, plane=15, uplink=255).pack() == 0xC0FFFFF0
    assert ev_to_wire(0xC0052010) == (0xC005, 0x2010)
    assert ev_to_wire(0xC0052010, swap=True) == (0x2010, 0xC005)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 15))
def test_wire_and_back(ev, swap, high):
    source_port, flow_label = ev_to_wire(ev, swap=swap)
    assert ev_from_wire(source_port, high << 16 | flow_label, swap=swap) == ev


@given(st.integers(0, 255), st.integers(0, 15), st.integers(0, 255))
def test_fields_and_back(index, plane, uplink):
    fields = EvFields(index, plane, uplink)
    assert EvFields.unpack(fields.pack()) == fields


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((256, 0, 0), "^index of an EV must be below 256, not 256$"),
        ((0, 16, 0), "^plane of an EV must be below 16, not 16$"),
        ((0, 0, -1), "^uplink of an EV must be below 256, not -1$"),
    ],
)
def test_limits(fields, message):
    with pytest.raises(ValueError, match=message):
        EvFields(*fields).pack()

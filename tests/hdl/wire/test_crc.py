import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrcnic.hdl.wire.crc import advance_matrix, data_matrix, retreat_matrix

states = st.integers(0, 2**32 - 1)


def product(matrix, value):
    return sum(((value & row).bit_count() & 1) << bit for bit, row in enumerate(matrix))


@given(st.binary(min_size=4, max_size=20))
def test_data(octets):
    """Ones added to the first four octets are the initial state of the standard's CRC."""
    value = int.from_bytes(octets, "little") ^ 0xFFFFFFFF
    assert product(data_matrix(len(octets)), value) ^ 0xFFFFFFFF == zlib.crc32(octets)


@given(states, st.integers(0, 20))
def test_advance(state, octets):
    expected = zlib.crc32(bytes(octets), state ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    assert product(advance_matrix(octets), state) == expected


@given(states)
@pytest.mark.parametrize("octets", [1, 2, 64])
def test_retreat(octets, state):
    assert product(retreat_matrix(octets), product(advance_matrix(octets), state)) == state

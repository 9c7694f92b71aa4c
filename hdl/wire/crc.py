"""CRC-32 as gateware: matrices over bits, and the product of one with a value.

The CRC is the reflected one of IEEE 802.3 (section 3.2.9), which the ICRC uses as well. Its
state is linear in the state before and the octets taken in, so that both have a matrix. A matrix
is a tuple with one row for each bit of the result: a mask of the bits whose sum it is.
"""

from amaranth.hdl import Cat, Value

__all__ = ["CRC_BITS", "advance", "advance_matrix", "data_matrix", "multiply", "retreat_matrix"]

#: Width of the state.
CRC_BITS = 32

_POLYNOMIAL = 0xEDB88320
_TOP = 1 << (CRC_BITS - 1)


def data_matrix(octets: int, *, back: int = 0) -> tuple[int, ...]:
    """Return the matrix from so many octets, the first in the least significant bits, to the state.

    The state before is taken as zero. Another state counts as if it were added to the first four
    octets. The result is the state ``back`` octets of zero before the end.
    """
    columns = []
    column = _repeat(_retreat, 8 * back, _POLYNOMIAL)
    for _ in range(8 * octets):  # the last bit first: the others have taken that many more steps
        columns.append(column)
        column = _advance(column)
    return _rows(reversed(columns))


def advance(state: int, octets: int) -> int:
    """Return the state after so many octets of zero."""
    return _repeat(_advance, 8 * octets, state)


def advance_matrix(octets: int) -> tuple[int, ...]:
    """Return the matrix from a state to the one after so many octets of zero."""
    return _rows(_repeat(_advance, 8 * octets, 1 << bit) for bit in range(CRC_BITS))


def retreat_matrix(octets: int) -> tuple[int, ...]:
    """Return the matrix from a state to the one before so many octets of zero."""
    return _rows(_repeat(_retreat, 8 * octets, 1 << bit) for bit in range(CRC_BITS))


def multiply(matrix: tuple[int, ...], value: Value) -> Value:
    """Return the product of a matrix and ``value``."""
    return Cat((value & row).xor() for row in matrix)


def _advance(state):
    return state >> 1 ^ (_POLYNOMIAL if state & 1 else 0)


def _retreat(state):
    # The polynomial is the only one that can have set the top bit.
    return (state ^ _POLYNOMIAL) << 1 | 1 if state & _TOP else state << 1


def _repeat(step, count, state):
    for _ in range(count):
        state = step(state)
    return state


def _rows(columns):
    rows = [0] * CRC_BITS
    for position, column in enumerate(columns):
        for bit in range(CRC_BITS):
            rows[bit] |= (column >> bit & 1) << position
    return tuple(rows)

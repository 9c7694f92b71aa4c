"""Where a beat of payload is kept: beat ``b`` of slot ``s`` in bank ``(s + b) mod lanes``."""

from amaranth.hdl import Array, Const, Value

from mrcnic.hdl.config import NicConfig

__all__ = ["bank_depth", "beats_per_slot", "divide", "first_bank", "rows_per_slot"]


def beats_per_slot(config: NicConfig) -> int:
    """Return how many beats a slot holds."""
    return config.mtu // config.beat_octets


def rows_per_slot(config: NicConfig) -> int:
    """Return how many rows a slot has in each bank."""
    return -(-beats_per_slot(config) // config.lanes)


def bank_depth(config: NicConfig) -> int:
    """Return how many rows a bank has."""
    return config.slots * rows_per_slot(config)


def first_bank(config: NicConfig, slot: Value) -> Value:
    """Return the bank of beat 0 of ``slot``.

    Where ``lanes`` is not a power of two, the slot counts modulo 8 only: what matters is that
    different slots start in different banks.
    """
    remainder, _ = divide(slot[:3], config.lanes)
    return remainder


def divide(number: Value, lanes: int) -> tuple[Value, Value]:
    """Return remainder and quotient of ``number`` by ``lanes``; tables, not a divider."""
    if lanes == 1:
        return Const(0, 1), number
    if lanes.bit_count() == 1:
        bits = lanes.bit_length() - 1
        return number[:bits], (number >> bits)
    count = 1 << len(number)
    remainders = Array(Const(n % lanes, range(lanes)) for n in range(count))
    quotients = Array(Const(n // lanes, range(count // lanes + 1)) for n in range(count))
    return remainders[number], quotients[number]

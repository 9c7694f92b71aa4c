"""How the blocks of the register map are reached."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .register import WORD_BITS
from .registers import ADDRESS_BITS

__all__ = ["READ_LATENCY", "WORD_ADDRESS_BITS", "RegisterPort"]

#: Cycles from ``read`` to ``read_data``.
READ_LATENCY = 2

#: Width of the address of a word.
WORD_ADDRESS_BITS = ADDRESS_BITS - 2


class RegisterPort(wiring.Signature):
    """Read and write words. Blocks that do not know an address read zero, so they can be ORed.

    Members
    -------
    read : ``Out(1)``
        Set for a cycle when a read starts. ``read_address`` then holds until ``read_data`` is
        there.
    read_address : ``Out(12)``
        Word that is read.
    read_data : ``In(32)``
        What it says, :data:`READ_LATENCY` cycles after ``read``; zero if it is not known here.
    write : ``Out(1)``
        Write the octets in ``strobe``, in this cycle.
    write_address, write_data, strobe : ``Out(12)``, ``Out(32)``, ``Out(4)``
        Where, what, and which octets of it.
    """

    def __init__(self):
        super().__init__({
            "read": Out(1),
            "read_address": Out(WORD_ADDRESS_BITS),
            "read_data": In(WORD_BITS),
            "write": Out(1),
            "write_address": Out(WORD_ADDRESS_BITS),
            "write_data": Out(WORD_BITS),
            "strobe": Out(WORD_BITS // 8),
        })

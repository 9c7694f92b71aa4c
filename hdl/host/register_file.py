"""Registers made of flip-flops."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .register import WORD_BITS, Access, Register
from .register_port import RegisterPort

__all__ = ["RegisterFile"]

#: Words that one choice is made among, in a cycle.
_GROUP = 16


class RegisterFile(wiring.Component):
    """Hold registers, and do what their access says.

    Reads take the two cycles of a :class:`RegisterPort`: one to choose in each group of words, one
    to choose a group. Writes take one. A wide register is written a word at a time.

    Parameters
    ----------
    registers : iterable of :class:`~.register.Register`
        The registers.

    Members
    -------
    port : ``In(RegisterPort())``
        Reads and writes.
    i : ``In(StructLayout({name: width, ...}))``
        Per ``r`` register what it reads; per ``rw1c`` register the bits to be set in this cycle,
        which win over clearing; per ``w1s`` register what it reads.
    o : ``Out(StructLayout({name: width, ...}))``
        Per ``rw`` and ``rw1c`` register its value; per ``w1s`` register the ones written, for one
        cycle.

    Raises
    ------
    ValueError
        If two registers take the same word.
    """

    def __init__(self, registers: Iterable[Register]):
        self.registers = tuple(registers)
        self._words = {}
        for register in self.registers:
            for n in range(register.words):
                word = register.address // 4 + n
                if word in self._words:
                    raise ValueError(
                        f"register {register.name} is where {self._words[word][0].name} is"
                    )
                self._words[word] = (register, WORD_BITS * n)
        read = {r.name: r.width for r in self.registers if r.access != Access.RW}
        held = {r.name: r.width for r in self.registers if r.access != Access.R}
        super().__init__({
            "port": In(RegisterPort()),
            "i": In(data.StructLayout(read)),
            "o": Out(
                data.StructLayout(held),
                init={r.name: r.reset for r in self.registers if r.access == Access.RW},
            ),
        })

    def elaborate(self, platform):
        m = Module()

        # Writes, octet by octet.
        for register in self.registers:
            if register.access == Access.W1S:
                m.d.sync += self.o[register.name].eq(0)
        for word, (register, start) in self._words.items():
            if register.access == Access.R:
                continue
            value = self.o[register.name][start : start + WORD_BITS]
            with m.If(self.port.write & (self.port.write_address == word)):
                for lane in range(-(-len(value) // 8)):
                    octet = value[8 * lane : 8 * lane + 8]
                    written = self.port.write_data[8 * lane : 8 * lane + 8][: len(octet)]
                    with m.If(self.port.strobe[lane]):
                        m.d.sync += octet.eq(
                            octet & ~written if register.access == Access.RW1C else written
                        )
        for register in self.registers:
            if register.access == Access.RW1C:
                value = self.o[register.name]
                for bit in range(len(value)):
                    with m.If(self.i[register.name][bit]):
                        m.d.sync += value[bit].eq(1)

        self._read(m)
        return m

    def _read(self, m):
        # A word of each group, then the group.
        parts = []
        for group in sorted({word // _GROUP for word in self._words}):
            part = Signal(WORD_BITS, name=f"part_{group}")
            parts.append(part)
            m.d.sync += part.eq(0)
            address = self.port.read_address
            with m.Switch(address[4:]), m.Case(group), m.Switch(address[:4]):
                for place in range(_GROUP):
                    if found := self._words.get(group * _GROUP + place):
                        register, start = found
                        is_held = register.access in (Access.RW, Access.RW1C)
                        value = (self.o if is_held else self.i)[register.name]
                        with m.Case(place):
                            m.d.sync += part.eq(value[start : start + WORD_BITS])
        m.d.sync += self.port.read_data.eq(reduce(or_, parts))

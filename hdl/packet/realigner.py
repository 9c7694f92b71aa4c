"""Moving a run of octets from one place in its beats to another."""

from operator import index

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .rotator import Rotator, rotation_cycles

__all__ = ["Realigner"]


class Realigner(wiring.Component):
    """Rotate beats to the left, and fill each one's low octets from the beat before it.

    Of an emitted beat, the octets below ``amount`` come from the beat taken before it, emitted or
    not, and the others from the beat itself, both rotated by ``amount``. With ``amount`` the place
    where a packet is to start this moves it there; with the beat's size less the place where it
    starts now, and its first beat not emitted, it moves the packet to the start of a beat. Where
    the last octets are left over, one more beat of any contents has to follow.

    Latency is :attr:`latency` cycles; one beat per cycle passes.

    Parameters
    ----------
    octets : :class:`int`
        Octets of a beat; a power of two, at least 2.
    tag_shape : :ref:`shape-like <lang-shapelike>`
        Shape of what travels along unchanged.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from ``i`` to ``o``.

    Members
    -------
    i : ``In(stream.Signature(StructLayout({"data", "amount", "whole", "emit", "tag"})))``
        Beats. ``amount`` is the same in all beats of a packet; ``whole`` says that all octets come
        from the beat itself; without ``emit`` it only serves the next one.
    o : ``Out(stream.Signature(StructLayout({"data", "tag"})))``
        Emitted beats.
    """

    def __init__(self, *, octets: int, tag_shape: ShapeLike):
        self.octets = index(octets)
        self.tag_shape = tag_shape
        self.latency = rotation_cycles(self.octets) + 1
        super().__init__({
            "i": In(
                stream.Signature(
                    data.StructLayout({
                        "data": 8 * self.octets,
                        "amount": self.octets.bit_length() - 1,
                        "whole": 1,
                        "emit": 1,
                        "tag": tag_shape,
                    })
                )
            ),
            "o": Out(
                stream.Signature(data.StructLayout({"data": 8 * self.octets, "tag": tag_shape}))
            ),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.rotator = rotator = Rotator(
            octets=self.octets,
            tag_shape=data.StructLayout({"whole": 1, "emit": 1, "tag": self.tag_shape}),
        )
        previous = Signal(8 * self.octets, reset_less=True)

        taken = rotator.i.payload
        m.d.comb += rotator.i.valid.eq(self.i.valid)
        m.d.comb += self.i.ready.eq(rotator.i.ready)
        m.d.comb += taken.data.eq(self.i.payload.data)
        m.d.comb += taken.amount.eq(self.i.payload.amount)
        m.d.comb += taken.tag.whole.eq(self.i.payload.whole)
        m.d.comb += taken.tag.emit.eq(self.i.payload.emit)
        m.d.comb += taken.tag.tag.eq(self.i.payload.tag)

        rotated = rotator.o.payload
        is_new = Signal(self.octets)
        m.d.comb += is_new.eq(
            (Const((1 << self.octets) - 1) << rotated.amount)
            | rotated.tag.whole.replicate(self.octets)
        )
        m.d.comb += rotator.o.ready.eq(self.o.ready | ~self.o.valid)
        with m.If(rotator.o.ready):
            m.d.sync += self.o.valid.eq(rotator.o.valid & rotated.tag.emit)
            m.d.sync += self.o.payload.tag.eq(rotated.tag.tag)
            for place in range(self.octets):
                octet = slice(8 * place, 8 * place + 8)
                m.d.sync += self.o.payload.data[octet].eq(
                    Mux(is_new[place], rotated.data[octet], previous[octet])
                )
            with m.If(rotator.o.valid):
                m.d.sync += previous.eq(rotated.data)

        return m

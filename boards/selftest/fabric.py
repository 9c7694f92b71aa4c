"""A plane of switches in one pipe: T0, a T1 that may be dead, T0."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.commit_fifo import CommitFifo

__all__ = ["SPINES", "FabricPath"]

#: T1 switches; they are the uplinks 1 to 4 of the first switch.
SPINES = 4

#: Longest frame between NICs whose packets have 1024 octets, in beats, and as much again.
_DEPTH = 256

_OCTETS = 8

# Beats of a frame: MAC addresses in 0 and 1, hop limit in 2 (octet 21); the destination's block
# ends in 5 (octet 41), whose rest is the first three uSIDs, and the other three are in 6.
_HOP_LIMIT_BEAT, _HOP_LIMIT_LANE, _USIDS_BEAT, _REST_BEAT = 2, 5, 5, 6
_ETHERNET_IPV6 = 0x86DD
_HOPS = 3

_TAPS = 0xB400  # x^16 + x^14 + x^13 + x^11 + 1, all lengths but zero


class FabricPath(wiring.Component):
    """Carry frames as three switches with uN segments do (RFC 9800): T0, a T1, T0.

    The first uSID of a frame's destination is taken for the first switch, the low octet of the
    second for the number of the T1, the third for the last switch; all three are consumed and three
    taken from the hop limit. A frame whose T1 is dead or is none of the :data:`SPINES` is lost, as
    are some by chance. Frames leave whole, at least 4 cycles after their last beat, and with
    addresses of the NIC at the end. One beat per cycle.

    Parameters
    ----------
    destination, source : :class:`int`
        MAC addresses of the NIC at the end, and of the switch before it.
    seed : :class:`int`
        Where chance begins; not zero.

    Members
    -------
    i : ``In(stream.Signature(Beat(8)))``
        Frames of a NIC.
    o : ``Out(stream.Signature(Beat(8, user_shape=1)))``
        Frames that get through.
    dead : ``In(SPINES)``
        Which T1 switches are dead.
    loss : ``In(16)``
        Frames that get lost by chance, of 65536.
    events : ``Out``
        ``forwarded``, ``lost`` by chance, ``killed`` in a dead T1, and ``strays``.

    Raises
    ------
    ValueError
        If ``seed`` is out of its limits.
    """

    def __init__(self, *, destination: int, source: int, seed: int):
        self.destination = index(destination)
        self.source = index(source)
        self.seed = index(seed)
        if not 1 <= self.seed < 1 << 16:
            raise ValueError(f"seed must be from 1 to 65535, not {seed}")
        super().__init__({
            "i": In(stream.Signature(Beat(_OCTETS))),
            "o": Out(stream.Signature(Beat(_OCTETS, user_shape=1))),
            "dead": In(SPINES),
            "loss": In(16),
            "events": Out(data.StructLayout({"forwarded": 1, "lost": 1, "killed": 1, "strays": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.fifo = fifo = CommitFifo(self.i.payload.shape(), depth=_DEPTH)
        # A beat waits for the one behind it, from which uSIDs move up.
        held = Signal(Beat(_OCTETS))
        waiting = Signal()
        number = Signal(3)
        m.d.comb += fifo.i.valid.eq(waiting & (held.last | self.i.valid))
        m.d.comb += self.i.ready.eq(~waiting | (fifo.i.ready & fifo.i.valid))
        moved = Signal()
        m.d.comb += moved.eq(fifo.i.valid & fifo.i.ready)
        with m.If(moved):
            m.d.sync += waiting.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += waiting.eq(1)
            m.d.sync += held.eq(self.i.payload)
            m.d.sync += number.eq(
                Mux(self.i.payload.first, 0, Mux(number.all(), number, number + 1))
            )

        m.d.comb += fifo.i.payload.eq(held)
        self._rewrite(m, fifo.i.payload, held, number)
        self._judge(m, fifo, held, number, moved)

        connect(m, fifo.o, flipped(self._without_user(m)))
        return m

    def _without_user(self, m):
        inner = stream.Signature(Beat(_OCTETS)).create()
        for name in ("data", "keep", "first", "last"):
            m.d.comb += self.o.payload[name].eq(inner.payload[name])
        m.d.comb += self.o.valid.eq(inner.valid)
        m.d.comb += inner.ready.eq(self.o.ready)
        return inner

    def _rewrite(self, m, out, held, number):
        macs = self.destination.to_bytes(6) + self.source.to_bytes(6)
        behind = self.i.payload.data
        with m.Switch(number):
            with m.Case(0):
                for n in range(_OCTETS):
                    m.d.comb += out.data[n].eq(macs[n])
            with m.Case(1):
                for n in range(4):
                    m.d.comb += out.data[n].eq(macs[_OCTETS + n])
            with m.Case(_HOP_LIMIT_BEAT):
                lane = held.data[_HOP_LIMIT_LANE]
                m.d.comb += out.data[_HOP_LIMIT_LANE].eq(lane - _HOPS)
            with m.Case(_USIDS_BEAT):
                for n in range(6):
                    m.d.comb += out.data[2 + n].eq(behind[n])
            with m.Case(_REST_BEAT):
                for n in range(6):
                    m.d.comb += out.data[n].eq(0)

    def _judge(self, m, fifo, held, number, moved):
        stray = Signal()
        spine = Signal(8)
        with m.If(moved), m.Switch(number):
            with m.Case(1):
                m.d.sync += stray.eq(Cat(held.data[5], held.data[4]) != _ETHERNET_IPV6)
            with m.Case(_USIDS_BEAT):
                m.d.sync += spine.eq(held.data[5])

        chance = Signal(16, init=self.seed)
        lost = Signal()
        killed = Signal()
        astray = Signal()
        too_short = number <= _USIDS_BEAT
        m.d.comb += astray.eq(stray | too_short | (spine == 0) | (spine > SPINES))
        m.d.comb += lost.eq((chance <= self.loss) & (self.loss != 0))
        with m.Switch(spine):
            for n in range(SPINES):
                with m.Case(n + 1):
                    m.d.comb += killed.eq(self.dead[n])
        m.d.comb += fifo.abort.eq(astray | killed | lost)
        ended = Signal()
        m.d.comb += ended.eq(moved & held.last)
        m.d.comb += self.events.strays.eq(ended & astray)
        m.d.comb += self.events.killed.eq(ended & ~astray & killed)
        m.d.comb += self.events.lost.eq(ended & ~astray & ~killed & lost)
        m.d.comb += self.events.forwarded.eq(ended & ~fifo.abort)
        # In every cycle, so that what befalls one frame tells nothing of the next.
        m.d.sync += chance.eq((chance >> 1) ^ Mux(chance[0], Const(_TAPS, 16), 0))

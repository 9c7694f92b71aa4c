"""Packet FIFO between two clocks that shows a packet only when it is whole."""

from operator import index

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .beat import Beat
from .beat_row import BeatRow
from .gray_crossing import GrayCrossing

__all__ = ["CommitCrossing"]


class CommitCrossing(wiring.Component):
    """Store packets in one clock domain, and forward in another those that are whole and wanted.

    Whether a packet stays is decided with the transfer of its last beat. Until then its beats are
    staged, and the other side knows nothing of them. What crosses is the *number of packets* that
    stayed: each adds one, where a pointer to beats would jump, which Gray code does not allow. Once
    a packet is known it is all there, so its beats come out one per cycle, without an idle one.

    A packet starts where ``first`` says. A packet that starts before the one under way has ended
    takes its place; beats without a start are ignored.

    A packet that finds the memory full is dropped whole if ``drop_when_full`` is set; otherwise it
    waits, unless it is alone in the memory: one of more than ``depth`` beats is dropped in either
    mode.

    **Resets of one side.** No pointer takes part in a reset, so neither side ever misjudges the
    other. A reset of ``i_domain`` drops the packet that is being stored, and the rest of it, should
    that still arrive. A reset of ``o_domain`` drops the packet that is being offered, and skips the
    rest of it. All other packets stay. Either clock may stop for any time.

    From the last beat in to the first beat out: three cycles of ``i_domain``, then five of
    ``o_domain``. One beat per cycle passes in and out, without a bubble between packets. The memory
    has one write port and one synchronous read port.

    Parameters
    ----------
    layout : :class:`~mrcnic.hdl.packet.beat.Beat`
        Shape of the beats.
    depth : :class:`int`
        Beats that fit in the memory; a power of two from 4 to 4096.
    drop_when_full : :class:`bool`
        Never make the producer wait.
    i_domain, o_domain : :class:`str`
        Clock domains of ``i`` and ``o``.

    Attributes
    ----------
    storage, fetch_port : :class:`~amaranth.lib.memory.Memory` and its read port
    committed, written, news, frames, outside, overrun : :class:`~amaranth.hdl.Signal`
        State of the side of ``i``, for proofs.
    left, read, fetched, taken, following, ended, skip : :class:`~amaranth.hdl.Signal`
        State of the side of ``o``.

    Members
    -------
    i : ``In(stream.Signature(layout))``
        Packets, in ``i_domain``. With ``drop_when_full``, ``ready`` is always set.
    abort : ``In(1)``
        Forget the packet; counts together with its last beat only.
    dropped : ``Out(1)``
        In ``i_domain``, with the transfer of a last beat: the packet, which was not aborted, found
        no room.
    o : ``Out(stream.Signature(layout))``
        Packets that stayed, in order, in ``o_domain``.

    Raises
    ------
    ValueError
        If ``depth`` is out of its limits.
    """

    def __init__(
        self,
        layout: Beat,
        *,
        depth: int,
        drop_when_full: bool = False,
        i_domain: str,
        o_domain: str,
    ):
        self.layout = layout
        self.depth = index(depth)
        self.drop_when_full = bool(drop_when_full)
        self.i_domain = i_domain
        self.o_domain = o_domain
        if not (4 <= self.depth <= 4096 and self.depth.bit_count() == 1):
            raise ValueError(f"depth must be a power of two from 4 to 4096, not {depth}")

        self._row = BeatRow(layout)
        self.storage = Memory(shape=self._row, depth=self.depth, init=[])
        self.fetch_port = self.storage.read_port(domain=o_domain)

        # Pointers and counts go modulo twice the depth: more than there can be in the memory and
        # in the registers behind it.
        count = range(2 * self.depth)
        self.committed = Signal(count, reset_less=True)
        self.written = Signal(count, reset_less=True)
        self.news = Signal(reset_less=True)  # a packet has stayed that is not in `frames` yet
        self.frames = Signal(count, reset_less=True)  # that stayed
        self.outside = Signal(init=1)  # no packet has begun since the last end, or a reset
        self.overrun = Signal()  # the packet under way found no room

        self.left = Signal(count, reset_less=True)  # beats before this place are the writer's again
        self.read = Signal(count, reset_less=True)  # one further with `fetched`
        self.fetched = Signal()
        self.taken = Signal(count, reset_less=True)  # packets whose end has left
        self.following = Signal(count, init=1, reset_less=True)  # one more, for a short path
        self.ended = Signal(init=1, reset_less=True)  # the beat moved out last was a packet's end
        self.skip = Signal(init=1)  # after a reset, the rest of what was being offered

        super().__init__({
            "i": In(stream.Signature(layout)),
            "abort": In(1),
            "dropped": Out(1),
            "o": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.storage = self.storage
        bits = len(self.read)
        m.submodules.room = room = GrayCrossing(
            bits=bits, i_domain=self.o_domain, o_domain=self.i_domain
        )
        m.submodules.news = news = GrayCrossing(
            bits=bits, i_domain=self.i_domain, o_domain=self.o_domain
        )
        m.d.comb += room.i.eq(self.left)
        m.d.comb += news.i.eq(self.frames)
        self._store(m, m.d[self.i_domain], room.o)
        self._offer(m, m.d[self.o_domain], news.o)
        return m

    def _store(self, m, d, read):
        """Store beats; ``read`` is where the other side was a few cycles ago."""
        beat = self.i.payload
        write_port = self.storage.write_port(domain=self.i_domain)
        place = Signal.like(self.written)
        stray = Signal()
        full = Signal()
        unfit = Signal()
        m.d.comb += place.eq(Mux(beat.first, self.committed, self.written))
        m.d.comb += full.eq(place == (read ^ self.depth))
        m.d.comb += stray.eq(self.outside & ~beat.first)
        m.d.comb += unfit.eq((self.overrun & ~beat.first) | full)
        ready = 1
        if not self.drop_when_full:
            # A packet that fills the memory alone is not going to find more room by waiting.
            alone = Signal()
            m.d.comb += alone.eq(read == self.committed)
            m.d.comb += unfit.eq((self.overrun & ~beat.first) | (full & alone))
            ready = ~full | unfit | stray
        m.d.comb += self.i.ready.eq(ready)

        taken = Signal()
        stored = Signal()
        stays = Signal()
        m.d.comb += taken.eq(self.i.valid & self.i.ready & ~stray)
        m.d.comb += stored.eq(taken & ~unfit)
        m.d.comb += stays.eq(stored & beat.last & ~self.abort)
        m.d.comb += self.dropped.eq(taken & beat.last & unfit & ~self.abort)
        m.d.comb += write_port.addr.eq(place[:-1])
        m.d.comb += self._row.store(beat, write_port.data)
        m.d.comb += write_port.en.eq(stored)
        with m.If(taken):
            d += self.outside.eq(beat.last)
            d += self.overrun.eq(unfit)
        with m.If(stored):
            d += self.written.eq(place + 1)
        with m.If(stays):
            d += self.committed.eq(place + 1)

        # A cycle later, when the beat is in the memory for certain.
        d += self.news.eq(stays)
        d += self.frames.eq(self.frames + self.news)

    def _offer(self, m, d, frames):
        """Offer packets; ``frames`` is how many of them there had been a few cycles ago."""
        row = self.fetch_port.data
        advance = Signal()
        move = Signal()
        fetch = Signal()
        some = Signal()  # a packet whose end has not left
        more = Signal()  # another one
        m.d.comb += move.eq(self.o.ready | ~self.o.valid)
        m.d.comb += advance.eq(move | ~self.fetched)
        m.d.comb += some.eq(frames != self.taken)
        m.d.comb += more.eq(frames != self.following)
        m.d.comb += fetch.eq(advance & some & (more | ~(self.fetched & row.last)))
        m.d.comb += self.fetch_port.addr.eq(self.read[:-1])
        m.d.comb += self.fetch_port.en.eq(fetch)
        with m.If(advance):
            d += self.fetched.eq(fetch)
        with m.If(fetch):
            d += self.read.eq(self.read + 1)

        with m.If(self.ended):
            d += self.skip.eq(0)
        # While in reset, nothing leaves, and a beat that was fetched will have to be again.
        in_reset = ResetSignal(self.o_domain, allow_reset_less=True)
        with m.If(in_reset):
            d += self.read.eq(self.left)
        with m.Elif(move):
            d += self.o.valid.eq(self.fetched & (self.ended | ~self.skip))
            with m.If(self.fetched):
                d += self._row.load(row, self.o.payload)
                d += self.o.payload.first.eq(self.ended)
                d += self.left.eq(self.left + 1)
                d += self.ended.eq(row.last)
                with m.If(row.last):
                    d += self.taken.eq(self.following)
                    d += self.following.eq(self.following + 1)

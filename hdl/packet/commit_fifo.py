"""Packet FIFO that shows a packet only when it is known to be good."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .beat import Beat
from .beat_row import BeatRow

__all__ = ["CommitFifo"]


class CommitFifo(wiring.Component):
    """Store packets, and forward those that are complete, not aborted, and found room.

    Whether a packet stays is decided with the transfer of its last beat and in no other cycle.
    Until then its beats are staged: they take room, and the output knows nothing of them. A packet
    that does not stay gives its room back at once and leaves no octet behind.

    A packet that finds the memory full is dropped whole if ``drop_when_full`` is set; that state
    lasts until its last beat, whatever room there is in the meantime. Otherwise it waits, unless
    it is alone in the memory and would wait forever: a packet of more than ``depth`` beats is
    dropped in either mode. ``full`` is judged by beats staged and committed; a beat that leaves in
    this very cycle still counts.

    The last beat of a packet in, its first beat out: three cycles. One beat per cycle passes in
    and out, without a bubble between packets. ``keep`` and ``first`` are not stored, but made
    again, which saves every ninth bit. The memory has one write port and one synchronous read
    port; besides, two beats fit in the registers behind it.

    Parameters
    ----------
    layout : :class:`~mrcnic.hdl.packet.beat.Beat`
        Shape of the beats.
    depth : :class:`int`
        Beats that fit in the memory; a power of two from 2 to 4096.
    drop_when_full : :class:`bool`
        Never make the producer wait.

    Attributes
    ----------
    storage, fetch_port : :class:`~amaranth.lib.memory.Memory` and its read port
    written, committed, read, dropping, fetched, ended : :class:`~amaranth.hdl.Signal`
        State, for proofs.

    Members
    -------
    i : ``In(stream.Signature(layout))``
        Packets. With ``drop_when_full``, ``ready`` is always set.
    abort : ``In(1)``
        Forget the packet; counts together with its last beat only.
    release : ``In(1)``
        With the transfer of a beat: the packet stays whatever comes, so what there is of it may
        be shown. It must not be aborted, and all its further beats must be released as well.
    o : ``Out(stream.Signature(layout))``
        Packets that stayed, in order.
    level : ``Out(range(depth + 1))``
        Beats in the memory, staged ones included.
    room : ``Out(range(depth + 1))``
        Beats that still fit: ``depth - level``.
    dropped : ``Out(1)``
        With the transfer of a last beat: the packet, which was not aborted, found no room.

    Raises
    ------
    ValueError
        If ``depth`` is out of its limits.
    """

    def __init__(self, layout: Beat, *, depth: int, drop_when_full: bool = False):
        self.layout = layout
        self.depth = index(depth)
        self.drop_when_full = bool(drop_when_full)
        if not (2 <= self.depth <= 4096 and self.depth.bit_count() == 1):
            raise ValueError(f"depth must be a power of two from 2 to 4096, not {depth}")

        self._row = BeatRow(layout)
        self.storage = Memory(shape=self._row, depth=self.depth, init=[])
        self.fetch_port = self.storage.read_port()

        # Pointers count modulo twice the depth, which tells a full memory from an empty one.
        self.written = Signal(range(2 * self.depth))  # staged up to here
        self.committed = Signal.like(self.written)
        self.read = Signal.like(self.written)
        self.dropping = Signal()
        self.fetched = Signal()
        self.ended = Signal(init=1)  # the beat moved to the output last was the end of a packet

        super().__init__({
            "i": In(stream.Signature(layout)),
            "abort": In(1),
            "release": In(1),
            "o": Out(stream.Signature(layout)),
            "level": Out(range(self.depth + 1)),
            "room": Out(range(self.depth + 1)),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.storage = self.storage
        write_port = self.storage.write_port()
        written, committed, read = self.written, self.committed, self.read
        full = Signal()
        m.d.comb += self.level.eq((written - read)[: len(written)])
        m.d.comb += self.room.eq(self.depth - self.level)
        m.d.comb += full.eq(self.level == self.depth)

        # A packet that fills the memory alone is not going to find more room by waiting.
        unfit = Signal()
        if self.drop_when_full:
            m.d.comb += unfit.eq(self.dropping | full)
            m.d.comb += self.i.ready.eq(1)
        else:
            m.d.comb += unfit.eq(self.dropping | (full & (read == committed)))
            m.d.comb += self.i.ready.eq(~full | unfit)

        m.d.comb += write_port.addr.eq(written[:-1])
        m.d.comb += self._row.store(self.i.payload, write_port.data)
        taken = self.i.valid & self.i.ready
        m.d.comb += self.dropped.eq(taken & self.i.payload.last & unfit & ~self.abort)
        m.d.comb += write_port.en.eq(taken & ~unfit)
        with m.If(taken):
            m.d.sync += written.eq(written + 1)
            with m.If(unfit | (self.i.payload.last & self.abort)):
                m.d.sync += written.eq(committed)
            with m.Elif(self.i.payload.last | self.release):
                m.d.sync += committed.eq(written + 1)
            m.d.sync += self.dropping.eq(unfit & ~self.i.payload.last)

        # The memory's own output register, and behind it the one of the output.
        advance = Signal()
        move = Signal()
        m.d.comb += move.eq(self.o.ready | ~self.o.valid)
        m.d.comb += advance.eq(move | ~self.fetched)
        m.d.comb += self.fetch_port.addr.eq(read[:-1])
        m.d.comb += self.fetch_port.en.eq(advance)
        with m.If(advance):
            m.d.sync += self.fetched.eq(read != committed)
            with m.If(read != committed):
                m.d.sync += read.eq(read + 1)

        with m.If(move):
            m.d.sync += self.o.valid.eq(self.fetched)
            with m.If(self.fetched):
                m.d.sync += self._row.load(self.fetch_port.data, self.o.payload)
                m.d.sync += self.o.payload.first.eq(self.ended)
                m.d.sync += self.ended.eq(self.fetch_port.data.last)

        return m

"""What peers may write to."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.layout import HeaderLayout

from .slot import Slot

__all__ = ["Protection"]


class Protection(wiring.Component):
    """Check a write packet against the memory region that its key names.

    Taken is a packet without payload; or one whose region is valid, may be written to, has the
    very key and the QP's protection domain, and holds both the packet's octets and as much of the
    message as the packet tells of: the rest of it behind a first packet, the part before in front
    of a last one. Every sum has a bit to spare, so an address near 2**64 cannot wrap.

    ``i`` is looked at in phase 1; ``allowed`` is right from four cycles later on, for three cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
        Phase of the pipeline.
    i : ``In(Slot(config))``
        Packet, stable for the three cycles from phase 1 on.
    domain : ``In(16)``
        Protection domain of the packet's QP, a cycle after phase 1.
    allowed : ``Out(1)``
        Whether the packet may be written.
    write_valid, write_index, write_row : ``In(1)``, ``In(16)``, ``In(HeaderLayout(REGION_ROW))``
        A row for the table.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "phase": In(2),
            "i": In(Slot(config)),
            "domain": In(16),
            "allowed": Out(1),
            "write_valid": In(1),
            "write_index": In(index_bits(config.regions)),
            "write_row": In(HeaderLayout(rows.REGION_ROW)),
        })

    def elaborate(self, platform):
        m = Module()

        layout = HeaderLayout(rows.REGION_ROW)
        m.submodules.regions = regions = Memory(shape=layout, depth=self.config.regions, init=[])
        write, read = regions.write_port(), regions.read_port()
        m.d.comb += [
            write.en.eq(self.write_valid),
            write.addr.eq(self.write_index),
            write.data.eq(self.write_row),
            read.en.eq(self.phase == 1),
            read.addr.eq(self.i.packet.rkey),
        ]
        packet, region = self.i.packet, read.data

        # Phase 2: whose region it is, and where in it the packet lies.
        matched = Signal()
        offset = Signal(65)  # the top bit: before the region
        size = Signal(64)
        octets = Signal.like(packet.octets)
        first, last = Signal(), Signal()
        length = Signal(32)
        with m.If(self.phase == 2):
            m.d.sync += [
                matched.eq(
                    region.valid
                    & region.remote_write
                    & (region.rkey == packet.rkey)
                    & (region.domain == self.domain)
                ),
                offset.eq(packet.va - region.base),
                size.eq(region.octets),
                octets.eq(packet.octets),
                first.eq(packet.first),
                last.eq(packet.last),
                length.eq(packet.dmalen),
            ]

        # Phase 0: what lies behind the packet's start, and how much of the message.
        behind = Signal(66)  # room from the packet's first octet on; the top bit: none
        before = Signal()
        whole = Signal()
        inside = Signal()
        empty = Signal()
        need = Signal(32)
        with m.If(self.phase == 0):
            m.d.sync += [
                behind.eq(size - offset[:64]),
                before.eq(offset[64]),
                # A last packet ends the message, so all of it must lie within the region.
                whole.eq(~last | (offset[:64] + octets >= length)),
                inside.eq(
                    matched
                    & (octets <= length)
                    & (~(first & last) | (octets == length))
                    & (length <= size)
                ),
                empty.eq(octets == 0),
            ]
            with m.If(first):
                m.d.sync += need.eq(length)
            with m.Else():
                m.d.sync += need.eq(octets)

        # Phase 1: does it fit?
        with m.If(self.phase == 1):
            fits = ~before & ~behind[65] & (behind[:65] >= need)
            m.d.sync += self.allowed.eq(empty | (inside & whole & fits))

        return m

"""EV values and profiles, as the host writes them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.layout import HeaderLayout

from .links import ProfileRow, split_ev

__all__ = ["EvTable", "EvWrite"]


class EvWrite(data.StructLayout):
    """A row for the table: ``index`` is ``profile * evs + ev_index``."""

    def __init__(self):
        super().__init__({"index": 16, "row": HeaderLayout(rows.EV_ROW)})


class EvTable(wiring.Component):
    """Keep the EVs of all profiles: their values, and masks of those in each plane.

    A read takes one cycle. A write takes 4 cycles, and one that takes the profile's number apart
    where ``evs`` is not a power of two, one more for each profile before it. A row beyond the
    table is dropped. After reset the masks are cleared, a row per cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    write : ``In(stream.Signature(EvWrite()))``
        Rows.
    profile, ev_index : ``In``, arrays of 2
        What to read.
    ev : ``Out(32).array(2)``
        Values read.
    row_profile, row_plane : ``In``
        Whose masks to read; only while ``write`` is idle.
    row : ``Out(ProfileRow(config))``
        Masks read, two cycles later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        profile = index_bits(config.profiles)
        super().__init__({
            "write": In(stream.Signature(EvWrite())),
            "profile": In(profile).array(2),
            "ev_index": In(index_bits(config.evs)).array(2),
            "ev": Out(32).array(2),
            "row_profile": In(profile),
            "row_plane": In(index_bits(config.lanes)),
            "row": Out(ProfileRow(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.values = values = DeepMemory(
            32, depth=max(2, config.profiles * config.evs), readers=2
        )
        for n in range(2):
            m.d.comb += values.row[n].eq(self.profile[n] * config.evs + self.ev_index[n])
            m.d.comb += self.ev[n].eq(values.data[n])

        # Masks: row profile * 2**bits + plane, so that no multiplication is needed.
        plane_bits = index_bits(config.lanes) if config.lanes > 1 else 0
        depth = max(2, config.profiles << plane_bits)
        m.submodules.masks = masks = DeepMemory(ProfileRow(config), depth=depth)
        place = Signal(range(depth))

        # The row that is written, taken apart: what is left of the index is the EV's.
        profile = Signal(index_bits(config.profiles))
        rest = Signal(16)
        row = Signal(HeaderLayout(rows.EV_ROW))
        plane, local = split_ev(m, config, rest[: index_bits(config.evs)])
        busy = Signal()

        with m.If(busy):
            m.d.comb += place.eq(profile << plane_bits | plane)
        with m.Else():
            m.d.comb += place.eq(self.row_profile << plane_bits | self.row_plane)
        m.d.sync += masks.row[0].eq(place)
        m.d.comb += self.row.eq(masks.data[0])

        after = Signal(ProfileRow(config))
        bit = Signal(config.evs_per_plane)
        m.d.comb += bit.eq(1 << local)
        self._change(m, masks.data[0], after, bit, row)

        cleared = Signal(range(depth))
        with m.FSM() as fsm:
            with m.State("CLEAR"):
                m.d.comb += masks.write.row.eq(cleared)
                m.d.sync += cleared.eq(cleared + 1)
                with m.If(cleared == depth - 1):
                    m.next = "IDLE"
            with m.State("IDLE"):
                self._take(m, profile, rest, row)
                within = self.write.payload.index < config.profiles * config.evs
                with m.If(self.write.valid & within):
                    m.next = "SPLIT"
            with m.State("SPLIT"):
                with m.If(rest < config.evs):
                    m.next = "READ"
                with m.Else():
                    m.d.sync += rest.eq(rest - config.evs)
                    m.d.sync += profile.eq(profile + 1)
            with m.State("READ"):
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += masks.write.row.eq(place)
                m.d.comb += masks.write.data.eq(after)
                m.next = "IDLE"
        m.d.comb += [
            self.write.ready.eq(fsm.ongoing("IDLE")),
            busy.eq(fsm.ongoing("SPLIT") | fsm.ongoing("READ") | fsm.ongoing("WRITE")),
            masks.write.valid.eq(fsm.ongoing("CLEAR") | fsm.ongoing("WRITE")),
            values.write.valid.eq(fsm.ongoing("WRITE")),
            values.write.row.eq(profile * config.evs + rest),
            values.write.data.eq(row.ev),
        ]

        return m

    def _take(self, m, profile, rest, row):
        offered = self.write.payload
        m.d.sync += row.eq(offered.row)
        if self.config.evs.bit_count() == 1:  # the profile stands in the upper bits
            bits = self.config.evs.bit_length() - 1
            m.d.sync += rest.eq(offered.index[:bits])
            m.d.sync += profile.eq(offered.index[bits:])
        else:
            m.d.sync += rest.eq(offered.index)
            m.d.sync += profile.eq(0)

    def _change(self, m, before, after, bit, row):
        had = (before.valid & bit).any()
        m.d.comb += after.eq(before)
        with m.If(row.valid):
            m.d.comb += after.valid.eq(before.valid | bit)
            m.d.comb += after.count.eq(before.count + ~had)
        with m.Else():
            m.d.comb += after.valid.eq(before.valid & ~bit)
            m.d.comb += after.count.eq(before.count - had)
        with m.If(row.valid & row.active):
            m.d.comb += after.active.eq(before.active | bit)
        with m.Else():
            m.d.comb += after.active.eq(before.active & ~bit)

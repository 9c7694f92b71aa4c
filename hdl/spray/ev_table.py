"""EV values and profiles, as the host writes them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.layout import HeaderLayout

from .link_map import Written
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
    hold : ``In(1)``
        No row is taken.
    row_profile : ``In``
        Whose masks to read; only while ``write`` is idle.
    row : ``Out(ProfileRow(config)).array(lanes)``
        Masks read, two cycles later; ``least`` is zero.
    valid_profile, valid : ``In``, ``Out(evs_per_plane).array(lanes)``
        Whose EVs to read; which there are, a cycle later.
    written : ``Out(Written(config))``
        Rows, as they are written.
    was_active : ``Out(1)``
        What the row last written stands for was active before.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        profile = index_bits(config.profiles)
        super().__init__({
            "write": In(stream.Signature(EvWrite())),
            "profile": In(profile).array(2),
            "ev_index": In(index_bits(config.evs)).array(2),
            "ev": Out(32).array(2),
            "hold": In(1),
            "row_profile": In(profile),
            "row": Out(ProfileRow(config)).array(config.lanes),
            "valid_profile": In(profile),
            "valid": Out(config.evs_per_plane).array(config.lanes),
            "written": Out(Written(config)),
            "was_active": Out(1),
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

        # The row that is written, taken apart: what is left of the index is the EV's.
        profile = Signal(index_bits(config.profiles))
        rest = Signal(16)
        row = Signal(HeaderLayout(rows.EV_ROW))
        plane, local = split_ev(m, config, rest[: index_bits(config.evs)])
        busy = Signal()

        # Masks, those of each plane on their own.
        depth = max(2, config.profiles)
        place = Signal(range(depth))
        m.d.comb += place.eq(Mux(busy, profile, self.row_profile))
        bit = Signal(config.evs_per_plane)
        m.d.comb += bit.eq(1 << local)
        masks = []
        for p in range(config.lanes):
            m.submodules[f"masks_{p}"] = memory = DeepMemory(
                ProfileRow(config), depth=depth, readers=2
            )
            m.d.sync += memory.row[0].eq(place)
            m.d.comb += self.row[p].eq(memory.data[0])
            m.d.comb += memory.row[1].eq(self.valid_profile)
            m.d.comb += self.valid[p].eq(memory.data[1].valid)
            masks.append(memory)
        before = Signal(ProfileRow(config))
        with m.Switch(plane):
            for p, memory in enumerate(masks):
                with m.Case(p):
                    m.d.comb += before.eq(memory.data[0])
        after = Signal(ProfileRow(config))
        self._change(m, before, after, bit, row)

        cleared = Signal(range(depth))
        with m.FSM() as fsm:
            with m.State("CLEAR"):
                m.d.sync += cleared.eq(cleared + 1)
                with m.If(cleared == depth - 1):
                    m.next = "IDLE"
            with m.State("IDLE"):
                self._take(m, profile, rest, row)
                within = self.write.payload.index < config.profiles * config.evs
                with m.If(self.write.valid & within & ~self.hold):
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
                m.d.sync += self.was_active.eq((before.active & bit).any())
                m.next = "IDLE"
        clears, writes = fsm.ongoing("CLEAR"), fsm.ongoing("WRITE")
        m.d.comb += [
            self.write.ready.eq(fsm.ongoing("IDLE") & ~self.hold),
            busy.eq(fsm.ongoing("SPLIT") | fsm.ongoing("READ") | writes),
            values.write.valid.eq(writes),
            values.write.row.eq(profile * config.evs + rest),
            values.write.data.eq(row.ev),
            self.written.valid.eq(writes),
            self.written.profile.eq(profile),
            self.written.plane.eq(plane),
            self.written.local.eq(local),
            self.written.had.eq((before.valid & bit).any()),
            self.written.row.eq(row),
        ]
        for p, memory in enumerate(masks):
            m.d.comb += memory.write.valid.eq(clears | (writes & (plane == p)))
            m.d.comb += memory.write.row.eq(Mux(clears, cleared, place))
            m.d.comb += memory.write.data.eq(Mux(clears, 0, after.as_value()))

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
        had, was_active = (before.valid & bit).any(), (before.active & bit).any()
        active = row.valid & row.active
        m.d.comb += [
            after.valid.eq(Mux(row.valid, before.valid | bit, before.valid & ~bit)),
            after.active.eq(Mux(active, before.active | bit, before.active & ~bit)),
            after.count.eq(before.count + row.valid - had),
            after.places.eq(before.places + active - was_active),
        ]

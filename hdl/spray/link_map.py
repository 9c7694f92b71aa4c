"""Which EVs take which uplink."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.srv6 import ENTROPY

__all__ = ["LinkMap", "Written", "uplink_of"]


class Written(data.StructLayout):
    """A row of an EV was written, if ``valid`` is set.

    Members
    -------
    valid : 1
    profile, plane, local : which one
    had : 1
        There was an EV before it.
    row : :data:`~mrcnic.hdl.rows.EV_ROW`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "profile": index_bits(config.profiles),
            "plane": index_bits(config.lanes),
            "local": index_bits(config.evs_per_plane),
            "had": 1,
            "row": HeaderLayout(rows.EV_ROW),
        })


def uplink_of(config: NicConfig, ev):
    """Return the uplink of an EV, and whether it is one that is told apart."""
    uplink = data.View(HeaderLayout(ENTROPY), ev).uplink
    bits = index_bits(config.uplinks)
    return uplink[:bits], ~uplink[bits:].any()


class LinkMap(wiring.Component):
    """Keep a mask of EVs for each profile, plane and uplink.

    A row of an EV is taken in 5 cycles. After reset all masks are cleared, one per cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    write : ``In(Written(config))``
        Rows; not while ``busy``.
    busy : ``Out(1)``
        Masks are being changed.
    profile, uplink : ``In``
        What to read.
    evs : ``Out(evs_per_plane).array(lanes)``
        Masks read, a cycle later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "write": In(Written(config)),
            "busy": Out(1),
            "profile": In(index_bits(config.profiles)),
            "uplink": In(index_bits(config.uplinks)),
            "evs": Out(config.evs_per_plane).array(config.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        uplink_bits, profile_bits = index_bits(config.uplinks), index_bits(config.profiles)
        written = Signal(Written(config))
        local_bits = index_bits(config.evs_per_plane)
        uplink, named = uplink_of(config, written.row.ev)
        m.submodules.before = before = DeepMemory(
            data.StructLayout({"uplink": uplink_bits, "named": 1}),
            depth=1 << profile_bits + index_bits(config.lanes) + local_bits,
        )
        place = Cat(self.write.local, self.write.plane, self.write.profile)
        m.d.comb += before.row[0].eq(place)
        m.d.comb += before.write.row.eq(Cat(written.local, written.plane, written.profile))
        m.d.comb += before.write.data.uplink.eq(uplink)
        m.d.comb += before.write.data.named.eq(named)

        cleared = Signal(uplink_bits + profile_bits)
        old_uplink, old_named = Signal(uplink_bits), Signal()
        with m.FSM() as fsm:
            with m.State("CLEAR"):
                m.d.sync += cleared.eq(cleared + 1)
                with m.If(cleared.all()):
                    m.next = "IDLE"
            with m.State("IDLE"):
                m.d.sync += written.eq(self.write)
                with m.If(self.write.valid):
                    m.next = "OLD"
            with m.State("OLD"):
                m.d.sync += old_uplink.eq(before.data[0].uplink)
                m.d.sync += old_named.eq(before.data[0].named & written.had)
                m.next = "READ"
            with m.State("READ"):
                m.next = "REMOVE"
            with m.State("REMOVE"):
                m.next = "READ AGAIN"
            with m.State("READ AGAIN"):
                m.next = "ADD"
            with m.State("ADD"):
                m.next = "IDLE"
        clears, removes, adds = (fsm.ongoing(name) for name in ("CLEAR", "REMOVE", "ADD"))
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
        m.d.comb += before.write.valid.eq(adds)

        later = fsm.ongoing("READ AGAIN") | adds
        row = Signal(uplink_bits + profile_bits)
        m.d.comb += row.eq(Cat(Mux(later, uplink, old_uplink), written.profile))
        changes = Mux(removes, old_named, adds & named & written.row.valid)
        self._rows(m, written, row, clears, cleared, removes, changes)
        return m

    def _rows(self, m, written, row, clears, cleared, removes, changes):
        """Keep the masks, each plane's on their own."""
        bit = Signal(self.config.evs_per_plane)
        m.d.comb += bit.eq(1 << written.local)
        for p in range(self.config.lanes):
            m.submodules[f"rows_{p}"] = memory = DeepMemory(
                self.config.evs_per_plane, depth=1 << len(row)
            )
            mask = memory.data[0]
            m.d.comb += [
                memory.row[0].eq(Mux(self.busy, row, Cat(self.uplink, self.profile))),
                memory.write.valid.eq(clears | ((written.plane == p) & changes)),
                memory.write.row.eq(Mux(clears, cleared, row)),
                memory.write.data.eq(Mux(clears, 0, Mux(removes, mask & ~bit, mask | bit))),
                self.evs[p].eq(mask),
            ]

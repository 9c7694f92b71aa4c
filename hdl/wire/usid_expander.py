"""From an entropy value to the uSIDs of a path."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.srv6 import CARRIER, ENTROPY, USID, USID_SLOTS

__all__ = ["UsidExpander"]

#: Octet of a uSID's index that names the uplink.
_UPLINK_BITS = 8


class UsidExpander(wiring.Component):
    """Put the plane and the uplink of an EV into the uSIDs of a carrier.

    Both are ORed in, so the template has zeros there, and every other bit of it comes through.
    Combinational, one or two levels of logic.

    Members
    -------
    template : ``In(128)``
        Carrier with plane and uplink left zero.
    plane_slots, uplink_slots : ``In(6)``
        Which uSIDs take the plane, and which the uplink; bit 0 is the first after the block.
    ev : ``In(32)``
        Entropy value.
    carrier : ``Out(128)``
        Destination of the outer IPv6 header.
    """

    template: In(128)
    plane_slots: In(USID_SLOTS)
    uplink_slots: In(USID_SLOTS)
    ev: In(32)
    carrier: Out(128)

    def elaborate(self, platform):
        m = Module()

        ev = data.View(HeaderLayout(ENTROPY), self.ev)
        layout = HeaderLayout(CARRIER)
        path = Signal(layout)
        for n in range(USID_SLOTS):
            usid = Signal(HeaderLayout(USID), name=f"usid_{n}")
            m.d.comb += usid.plane.eq(Mux(self.plane_slots[n], ev.plane, 0))
            m.d.comb += usid.index[:_UPLINK_BITS].eq(Mux(self.uplink_slots[n], ev.uplink, 0))
            m.d.comb += path[f"usid_{n}"].eq(Cat(usid))
        m.d.comb += self.carrier.eq(self.template | path.as_value())

        return m

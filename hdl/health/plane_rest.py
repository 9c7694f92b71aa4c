"""Planes that rest, each for a remote NIC."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS, RemoteMask, RestRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import RESTS, ProbeWatch, Proven

__all__ = ["PlaneRest"]


class _Kind(enum.Enum, shape=2):
    MASK = 0
    END = 1
    REST = 2


class PlaneRest(wiring.Component):
    """Take planes out of the masks of remote NICs, until probes have come back by them.

    A plane rests only for a remote NIC that is known, since only such a one answers probes, and no
    more than 16 of them at a time. One thing is done in 2 cycles, and a mask that has changed goes
    out in the cycle after them. After reset all rows are cleared, one per cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(RemoteMask(config)))``
        What remote NICs tell; before it does, one is not known.
    rests : ``In(stream.Signature(RestRequest(config)))``
        Planes that are to rest.
    ended : ``In(stream.Signature(Proven(config)))``
        Rests that are over.
    o : ``Out(stream.Signature(RemoteMask(config)))``
        What is to be used of remote NICs.
    watch : ``Out(stream.Signature(ProbeWatch(config)))``
        Planes that rest from now on.
    events : ``Out``
        ``plane_rests``, ``plane_returns``; ``plane_rest_refused``: one that cannot be.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = ("plane_rests", "plane_returns", "plane_rest_refused")
        super().__init__({
            "i": In(stream.Signature(RemoteMask(config))),
            "rests": In(stream.Signature(RestRequest(config))),
            "ended": In(stream.Signature(Proven(config))),
            "o": Out(stream.Signature(RemoteMask(config))),
            "watch": Out(stream.Signature(ProbeWatch(config))),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        lanes = config.lanes
        layout = data.StructLayout({"known": 1, "mask": lanes, "resting": lanes})
        m.submodules.peers = peers = DeepMemory(layout, depth=config.peers)
        kind, peer, plane = (
            Signal(_Kind),
            Signal(index_bits(config.peers)),
            Signal(index_bits(lanes)),
        )
        mask, ended, cleared = Signal(lanes), Signal(range(RESTS)), Signal(index_bits(config.peers))
        with m.FSM() as fsm:
            with m.State("CLEAR"):
                m.d.sync += cleared.eq(cleared + 1)
                with m.If(cleared == config.peers - 1):
                    m.next = "CHOOSE"
            with m.State("CHOOSE"), m.If(~self.o.valid & ~self.watch.valid):
                m.d.sync += [mask.eq(self.i.payload.mask), ended.eq(self.ended.payload.place)]
                with m.If(self.i.valid):
                    m.d.sync += [kind.eq(_Kind.MASK), peer.eq(self.i.payload.peer)]
                    m.next = "CHANGE"
                for source, what in ((self.ended, _Kind.END), (self.rests, _Kind.REST)):
                    with m.Elif(source.valid):
                        m.d.sync += [kind.eq(what), peer.eq(source.payload.peer)]
                        m.d.sync += plane.eq(source.payload.plane)
                        m.next = "CHANGE"
            with m.State("CHANGE"):
                m.next = "CHOOSE"
        clears, changes = fsm.ongoing("CLEAR"), fsm.ongoing("CHANGE")
        chooses = fsm.ongoing("CHOOSE") & ~self.o.valid & ~self.watch.valid
        m.d.comb += [
            self.i.ready.eq(chooses),
            self.ended.ready.eq(chooses & ~self.i.valid),
            self.rests.ready.eq(chooses & ~self.i.valid & ~self.ended.valid),
            peers.row[0].eq(
                Mux(
                    self.i.valid,
                    self.i.payload.peer,
                    Mux(self.ended.valid, self.ended.payload.peer, self.rests.payload.peer),
                )
            ),
            peers.write.valid.eq(clears | changes),
            peers.write.row.eq(Mux(clears, cleared, peer)),
        ]
        after = Signal(layout)
        m.d.comb += peers.write.data.eq(Mux(clears, 0, after.as_value()))
        for port in (self.o, self.watch):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        m.d.comb += after.eq(peers.data[0])
        with m.If(changes):
            m.d.sync += [
                self.o.valid.eq(after.known),
                self.o.payload.peer.eq(peer),
                self.o.payload.mask.eq(after.mask & ~after.resting),
            ]
        self._change(m, changes, kind, peer, plane, mask, ended, peers.data[0], after)
        return m

    def _change(self, m, changes, kind, peer, plane, mask, ended, before, after):
        """Say what becomes of a row."""
        bit, taken, place = Signal.like(mask), Signal(RESTS), Signal(range(RESTS))
        m.d.comb += bit.eq(Const(1, len(mask)) << plane)
        for n in reversed(range(RESTS)):  # the later assignment wins
            with m.If(~taken[n]):
                m.d.comb += place.eq(n)
        events, watch = self.events, self.watch.payload
        with m.Switch(kind):
            with m.Case(_Kind.MASK):
                m.d.comb += [after.known.eq(1), after.mask.eq(mask)]
            with m.Case(_Kind.END):
                m.d.comb += [
                    after.resting.eq(before.resting & ~bit),
                    events.plane_returns.eq(changes),
                ]
                with m.If(changes):
                    m.d.sync += taken.eq(taken & ~(Const(1, RESTS) << ended))
            with m.Case(_Kind.REST), m.If((before.resting & bit) == 0):
                with m.If(before.known & ~taken.all()):
                    m.d.comb += after.resting.eq(before.resting | bit)
                    m.d.comb += events.plane_rests.eq(changes)
                    with m.If(changes):
                        m.d.sync += [
                            taken.eq(taken | (Const(1, RESTS) << place)),
                            self.watch.valid.eq(1),
                            watch.place.eq(LINKS + place),
                            watch.peer.eq(peer),
                            watch.plane.eq(plane),
                        ]
                with m.Else():
                    m.d.comb += events.plane_rest_refused.eq(changes)

"""Planes in which most paths of a queue pair fail at once."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import RestRequest
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import OperationKind, Outcome

__all__ = ["PlaneWatch"]

#: Times are kept in units of so many bits less than ``now``, and in so many bits.
_UNIT_BITS, _WHEN_BITS = 6, 16


class PlaneWatch(wiring.Component):
    """Ask for a rest of a plane in which three quarters of a QP's paths have failed of late.

    Each active EV that a loss takes out of use counts, from the first one on for
    ``settings.rest_window`` ticks; then counting starts again. When the count is three quarters
    of the EVs that should be active there, the plane is to rest, for all QPs to the same remote
    NIC (docs/protocol.md, "Ports"). With a window of 0 nothing ever rests.

    An outcome per cycle, those of the same QP 3 cycles apart; a request comes 3 cycles after its
    outcome. One that comes while another waits is left out; the next loss asks again.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    outcome : ``In(Outcome(config))``
        What became of operations. A START forgets what was counted.
    peer_valid, peer_qp, peer : ``In``
        Row of the remote NIC, for a QP.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    rests : ``Out(stream.Signature(RestRequest(config)))``
        Planes that are to rest.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "outcome": In(Outcome(config)),
            "peer_valid": In(1),
            "peer_qp": In(index_bits(config.qps)),
            "peer": In(index_bits(config.peers)),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "rests": Out(stream.Signature(RestRequest(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.peers = peers = DeepMemory(index_bits(config.peers), depth=config.qps)
        m.d.comb += [
            peers.write.valid.eq(self.peer_valid),
            peers.write.row.eq(self.peer_qp),
            peers.write.data.eq(self.peer),
            peers.row[0].eq(self.outcome.operation.qp),
        ]
        # In the first cycle after the outcome counts are there, in the second they are written.
        outcome, peer = Signal(Outcome(config)), Signal(index_bits(config.peers))
        three_quarters = Signal(range(3 * config.evs_per_plane + 1))
        asks = Signal(config.lanes)
        m.d.sync += [outcome.eq(self.outcome), peer.eq(peers.data[0])]
        m.d.comb += three_quarters.eq(outcome.places * 3)
        operation, hits = outcome.operation, outcome.hits
        starts = outcome.valid & (operation.kind == OperationKind.START)
        fails = (
            outcome.valid
            & (operation.kind == OperationKind.BAD)
            & hits.active
            & (hits.good | hits.skip)
        )
        now = self.now[_UNIT_BITS : _UNIT_BITS + _WHEN_BITS]
        layout = data.StructLayout({"count": range(config.evs_per_plane + 1), "since": _WHEN_BITS})
        for p in range(config.lanes):
            m.submodules[f"counts_{p}"] = counts = DeepMemory(layout, depth=config.qps)
            before, after = counts.data[0], Signal(layout, name=f"after_{p}")
            here, enough = operation.plane == p, Signal(name=f"enough_{p}")
            passed = Signal(_WHEN_BITS, name=f"passed_{p}")
            over = passed > self.settings.rest_window >> _UNIT_BITS
            afresh = over | (before.count == 0)
            with m.If(starts):
                m.d.comb += after.count.eq(0)
            with m.Else():
                m.d.comb += after.count.eq(Mux(afresh, 0, before.count) + 1)
            m.d.comb += [
                passed.eq(now - before.since),
                after.since.eq(Mux(afresh, now, before.since)),
                enough.eq((after.count << 2) >= three_quarters),
                counts.row[0].eq(self.outcome.operation.qp),
            ]
            m.d.sync += [
                counts.write.valid.eq(starts | (fails & here)),
                counts.write.row.eq(operation.qp),
                counts.write.data.eq(after),
                asks[p].eq(fails & here & enough & (self.settings.rest_window != 0)),
            ]
        self._ask(m, asks, peer)
        return m

    def _ask(self, m, asks, peer):
        with m.If(self.rests.ready):
            m.d.sync += self.rests.valid.eq(0)
        with m.If(asks.any() & ~self.rests.valid):
            m.d.sync += [self.rests.valid.eq(1), self.rests.payload.peer.eq(peer)]
            for p in range(self.config.lanes):
                with m.If(asks[p]):
                    m.d.sync += self.rests.payload.plane.eq(p)

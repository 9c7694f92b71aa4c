"""Windows: whether a QP may send."""

from amaranth.hdl import Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Retired
from mrcnic.hdl.descriptor.sizes import index_bits

from .links import OVERHEAD_OCTETS, Opened, Popped, Progress
from .qp_memory import QpMemory

__all__ = ["CREDIT_BITS", "Gate", "Spent", "Windows"]

#: Width of counters of payload slots: they wrap, and their difference is at most 4,096.
_SLOT_COUNT_BITS = 13

#: A QP may hold so many times the payload slots that are free, as a power of two.
_SHARE = 2

#: Width of counters of congestion window credit: they wrap, and their difference stays below
#: the window, which has 25 bits, and a packet.
CREDIT_BITS = 26


class Spent(data.StructLayout):
    """What a QP has made use of.

    Members
    -------
    next_psn : 24
    rqmsn : 16
        Writes with immediate sent.
    allocated
        Octets of credit taken, wrapping.
    slots
        Payload slots taken, wrapping.
    fresh : 1
        Nothing was sent since the QP opened; ``allocated`` and ``slots`` do not count.
    """

    def __init__(self):
        super().__init__({
            "next_psn": 24,
            "rqmsn": 16,
            "allocated": CREDIT_BITS,
            "slots": _SLOT_COUNT_BITS,
            "fresh": 1,
        })


class Windows(data.StructLayout):
    """What a QP may do.

    Members
    -------
    psn_open, psn_last : 1
        The next PSN is in the peer's window; it is the last there, or behind it.
    immediate_open : 1
        Another write with immediate may start.
    empty : 1
        Nothing is under way: a packet may go whatever the congestion window.
    room : signed
        Padded payload octets that the congestion window has room for in one packet.
    share_open : 1
        It may take another payload slot.
    allocated, slots
        Octets of credit, and payload slots, taken; good for fresh QPs, too.
    """

    def __init__(self):
        super().__init__({
            "psn_open": 1,
            "psn_last": 1,
            "immediate_open": 1,
            "empty": 1,
            "room": signed(CREDIT_BITS + 2),
            "share_open": 1,
            "allocated": CREDIT_BITS,
            "slots": _SLOT_COUNT_BITS,
        })


class Gate(wiring.Component):
    """Compare what a QP has sent with what has come back.

    The PSN window reaches to ``cack + 128 * mpr - 1``, or to ``cack + config.window - 1`` if that
    is less (docs/protocol.md, "Windows"), where ``mpr`` is what the QP's row says, or the last SACK
    that told. Credit of the congestion window is held from
    allocation of a packet until it is retired: its UDP length and 40 octets (immediates not
    counted).

    A QP without packets under way may always have a payload slot; any other no more than four times
    as many as are free. So one QP that gets no answers leaves a fifth of the slots to the rest, and
    any number of them leave some (dynamic thresholds, as in shared-memory switches: A. Choudhury,
    E. Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

    Present ``qp`` first, ``spent`` a cycle later with ``look``; ``windows`` are there in the
    cycle after and stay. A retirement is taken each two cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    opened, progress, popped : ``In``
        News.
    retired : ``In(stream.Signature(Retired(config)))``
        Packets that count no more.
    occupied : ``In(range(slots + 1))``
        Payload slots in use.
    credit : ``Out(StructLayout({"valid": 1, "index": ...}))``
        News: a QP has got credit back.
    qp, look, spent, windows
        As described.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = index_bits(config.qps)
        super().__init__({
            "opened": In(Opened(config)),
            "progress": In(Progress(config)),
            "popped": In(Popped(config)),
            "retired": In(stream.Signature(Retired(config))),
            "occupied": In(range(config.slots + 1)),
            "credit": Out(data.StructLayout({"valid": 1, "index": bits})),
            "qp": In(bits),
            "look": In(1),
            "spent": In(Spent()),
            "windows": Out(Windows()),
        })

    def elaborate(self, platform):
        m = Module()

        limits, psns = self._limits(m), self._psns(m)
        cacks, immediates = self._copies(m)
        returned = self._returned(m)

        # Distances; the sums of two steps end in registers.
        distance = (self.spent.next_psn - cacks.value[0])[:24]
        under_way = (self.spent.rqmsn - immediates.value[0])[:16]
        allocated = Mux(self.spent.fresh, returned.octets, self.spent.allocated)
        slots = Mux(self.spent.fresh, returned.slots, self.spent.slots)
        inflight, held = Signal(CREDIT_BITS), Signal(_SLOT_COUNT_BITS)
        m.d.comb += [inflight.eq(allocated - returned.octets), held.eq(slots - returned.slots)]
        share = Signal(_SLOT_COUNT_BITS + _SHARE)
        m.d.sync += share.eq((self.config.slots - self.occupied) << _SHARE)
        with m.If(self.look):
            m.d.sync += [
                self.windows.psn_open.eq(distance <= psns),
                self.windows.psn_last.eq(distance >= psns),
                self.windows.immediate_open.eq(under_way < limits.immediates),
                self.windows.empty.eq(inflight == 0),
                self.windows.room.eq(limits.cwnd - inflight - OVERHEAD_OCTETS),
                self.windows.share_open.eq((held == 0) | (held < share)),
                self.windows.allocated.eq(allocated),
                self.windows.slots.eq(slots),
            ]

        return m

    def _limits(self, m):
        config, row = self.config, self.opened.row
        m.submodules.limits = limits = QpMemory(
            data.StructLayout({"immediates": 8, "cwnd": 25}), count=config.qps
        )
        m.d.comb += [
            limits.index[0].eq(self.qp),
            limits.write.valid.eq(self.opened.valid),
            limits.write.index.eq(self.opened.qp),
            limits.write.value.immediates.eq(
                Mux(row.max_immediates < config.immediates, row.max_immediates, config.immediates)
            ),
            limits.write.value.cwnd.eq(row.cwnd),
        ]
        return limits.value[0]

    def _psns(self, m):
        """Return how far the PSN window reaches beyond cack: it may change all the time."""
        config, opened, progress = self.config, self.opened, self.progress
        m.submodules.psns = psns = QpMemory(16, count=config.qps)
        most = config.window // 128
        mpr = Mux(opened.valid, opened.row.mpr, progress.mpr)
        m.d.comb += [
            psns.index[0].eq(self.qp),
            psns.write.valid.eq((progress.valid & progress.mpr_moved) | opened.valid),
            psns.write.index.eq(Mux(opened.valid, opened.qp, progress.qp)),
            psns.write.value.eq(Mux(mpr == 0, 0, (Mux(mpr < most, mpr, most) << 7) - 1)),
        ]
        return psns.value[0]

    def _copies(self, m):
        row = self.opened.row
        m.submodules.cacks = cacks = QpMemory(24, count=self.config.qps)
        m.submodules.immediates = immediates = QpMemory(16, count=self.config.qps)
        progress, popped = self.progress, self.popped
        for copy, start, news, moved, value in (
            (cacks, (row.tx_psn - 1)[:24], progress, progress.cack_moved, progress.cack),
            (immediates, Const(0, 16), popped, popped.immediates_moved, popped.immediates),
        ):
            m.d.comb += [
                copy.index[0].eq(self.qp),
                copy.write.valid.eq((news.valid & moved) | self.opened.valid),
                copy.write.index.eq(Mux(self.opened.valid, self.opened.qp, news.qp)),
                copy.write.value.eq(Mux(self.opened.valid, start, value)),
            ]
        return cacks, immediates

    def _returned(self, m):
        credit = data.StructLayout({"octets": CREDIT_BITS, "slots": _SLOT_COUNT_BITS})
        m.submodules.returned = returned = QpMemory(credit, count=self.config.qps, reads=2)
        looked = Signal()
        qp, octets = self.retired.payload.qp, self.retired.payload.octets
        m.d.sync += looked.eq(self.retired.valid & ~looked & ~returned.clearing)
        m.d.comb += [
            returned.index[0].eq(self.qp),
            returned.index[1].eq(qp),
            self.retired.ready.eq(looked),
            returned.write.valid.eq(self.retired.valid & looked),
            returned.write.index.eq(qp),
            returned.write.value.octets.eq(
                returned.value[1].octets + (((octets + 3)[2:] << 2) + OVERHEAD_OCTETS)
            ),
            returned.write.value.slots.eq(returned.value[1].slots + 1),
            self.credit.valid.eq(returned.write.valid),
            self.credit.index.eq(qp),
        ]
        return returned.value[0]

"""Probes of EVs that are out of use."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind, EvWatch, ProbeAnswer
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.packet.pending_set import PendingSet
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Opcode, ProbeKind, Role

from .watch_row import PendingProbe, WatchOperation, WatchOperationKind, WatchRow
from .watch_rule import WatchRule

__all__ = ["PathProber"]

#: Probes under way in all QPs together. Fewer than there are numbers, so that no two have the same.
_PENDING = 64

_EVENTS = ("probe_sent", "probe_answered", "probe_unanswered", "probe_stale", "path_restored")


class PathProber(wiring.Component):
    """Probe every EV that has gone out of use, until three answers in a row bring it back.

    :class:`~.watch_rule.WatchRule` says when. A plane gets no more than one probe in
    ``settings.probe_interval``, and none while its port is down. A probe that is not answered
    within ``settings.probe_timeout`` counts as lost. Its id is the EV's index and a number that
    comes again only after 253 other probes, so an answer from before the failure, or from the QP's
    former life, changes nothing.

    Any number of EVs may be watched, all of all QPs: a row of 18 bits for each waits in memory,
    and a walk looks at those of QPs that have any. An operation takes two cycles, and
    it is back at a row after at most ``(2 * evs + 4) * n`` cycles, where ``n`` QPs have watched
    EVs; news goes first. An answer is told 2 cycles after it was taken.

    Writing the row of a QP takes ``2 * evs + 2`` cycles and clears its watches; what is announced
    of it meanwhile belongs to its former life. So the row should come here after the one who
    announces has taken it.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    watch : ``In(stream.Signature(EvWatch(config)))``
        EVs that went out of use. One that is watched already starts anew.
    answers : ``In(stream.Signature(ProbeAnswer(config)))``
        Answers to probes.
    probes : ``Out(stream.Signature(TxRequest(config)))``
        Reliability probes, each for one path.
    ev_events : ``Out(stream.Signature(EvEvent(config)))``
        What they have shown.
    table : ``In(stream.Signature(TableWrite()))``
        Rows; those of QPs are used.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    port_up : ``In(lanes)``
    events : ``Out``
        ``probe_sent``, ``probe_answered``, ``probe_unanswered``; ``probe_stale``: an answer that
        nobody waits for; ``path_restored``: the third in a row.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "watch": In(stream.Signature(EvWatch(config))),
            "answers": In(stream.Signature(ProbeAnswer(config))),
            "probes": Out(stream.Signature(TxRequest(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "port_up": In(config.lanes),
            "events": Out(data.StructLayout(dict.fromkeys(_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        ev_bits, qp_bits = index_bits(config.evs), index_bits(config.qps)
        m.submodules.watched = watched = DeepMemory(WatchRow(), depth=1 << ev_bits + qp_bits)
        m.submodules.numbers = numbers = DeepMemory(
            data.StructLayout({"qpn": 16, "remote_qpn": 16}), depth=config.qps
        )
        m.submodules.rule = rule = WatchRule(config)
        entry = Signal(PendingProbe(config))
        m.submodules.pending = pending = SyncFIFOBuffered(
            width=len(entry.as_value()), depth=_PENDING
        )

        # One operation at a time: it is chosen in one cycle and done in the next.
        chosen, operation, done = Signal(WatchOperation(config)), rule.operation, Signal()
        current = Signal.like(chosen)
        may_plane = self._planes(m, chosen.ev_index, rule.send & done)
        m.d.sync += [done.eq(self._choose(m, chosen, done, pending)), current.eq(chosen)]
        number = Signal(8, init=ProbeKind.PATH)
        m.d.comb += [
            watched.row[0].eq(Cat(chosen.ev_index, chosen.qp)),
            numbers.row[0].eq(chosen.qp),
            operation.eq(current),
            rule.before.eq(watched.data[0]),
            rule.may_send.eq(may_plane & ~self.probes.valid & pending.w_rdy),
            rule.number.eq(number),
            rule.settings.eq(self.settings),
            rule.now.eq(self.now),
            watched.write.valid.eq(done),
            watched.write.row.eq(Cat(operation.ev_index, operation.qp)),
            watched.write.data.eq(rule.after),
        ]

        sends = done & rule.send
        self._send(m, sends, operation, number, numbers.data[0])
        m.d.comb += [
            entry.qp.eq(operation.qp),
            entry.ev_index.eq(operation.ev_index),
            entry.number.eq(number),
            entry.sent.eq(self.now),
            pending.w_data.eq(entry),
            pending.w_en.eq(sends),
        ]
        self._tell(m, done, operation, rule)
        layout = HeaderLayout(rows.QP_ROW)
        row = data.View(layout, self.table.payload.row[: layout.size])
        m.d.comb += [
            numbers.write.valid.eq(self.table.valid & (self.table.payload.table == Table.QP)),
            numbers.write.row.eq(self.table.payload.index),
            numbers.write.data.qpn.eq(row.qpn),
            numbers.write.data.remote_qpn.eq(row.remote_qpn),
        ]

        return m

    def _planes(self, m, ev_index, sends):
        """Return whether the plane of the operation that is done takes a probe."""
        per_plane = self.config.evs_per_plane
        plane = Signal(index_bits(self.config.lanes))
        may = Signal()
        last = Signal.like(self.now)
        m.d.sync += [last.eq(self.now), plane.eq(0)]
        for p in range(self.config.lanes):
            if p:
                with m.If(ev_index >= p * per_plane):
                    m.d.sync += plane.eq(p)
            held = Signal.like(self.settings.probe_interval, name=f"held_{p}")
            with m.If(plane == p):
                m.d.comb += may.eq((held == 0) & self.port_up[p])
            with m.If(sends & (plane == p)):
                m.d.sync += held.eq(self.settings.probe_interval)
            with m.Elif((held != 0) & (self.now != last)):
                m.d.sync += held.eq(held - 1)
        return may

    def _choose(self, m, chosen, done, pending):
        """Choose the next operation; return whether there is one."""
        free = ~done
        clearing, ends = Signal(), Signal()
        position = Signal(index_bits(self.config.evs))
        expired, head = self._oldest(m, pending)
        walking, walk_qp, walk_ev, walked = self._walk(m, done)
        can_tell = ~self.ev_events.valid
        answer = self.answers.payload
        known = answer.probe_id[8:] < self.config.evs

        table = self.table.payload
        m.d.comb += ends.eq(position == self.config.evs - 1)
        m.d.comb += self.table.ready.eq((table.table != Table.QP) | (clearing & ends & free))
        with m.If(self.table.valid & (table.table == Table.QP)):
            m.d.sync += clearing.eq(~(clearing & ends & free))
            with m.If(clearing & free):
                m.d.sync += position.eq(Mux(ends, 0, position + 1))

        valid = Signal()
        m.d.comb += valid.eq(free)
        with m.If(clearing):
            m.d.comb += [
                chosen.kind.eq(WatchOperationKind.CLEAR),
                chosen.qp.eq(table.index),
                chosen.ev_index.eq(position),
                self.watch.ready.eq(self.watch.payload.qp == chosen.qp),
            ]
        with m.Elif(self.answers.valid & can_tell):
            m.d.comb += [
                chosen.kind.eq(WatchOperationKind.ANSWERED),
                chosen.qp.eq(answer.qp),
                chosen.ev_index.eq(answer.probe_id[8:]),
                # No probe has the number 0.
                chosen.number.eq(Mux(known, answer.probe_id[:8], 0)),
                chosen.marked.eq(answer.marked),
                self.answers.ready.eq(free),
            ]
        with m.Elif(expired & can_tell):
            m.d.comb += [
                chosen.kind.eq(WatchOperationKind.UNANSWERED),
                chosen.qp.eq(head.qp),
                chosen.ev_index.eq(head.ev_index),
                chosen.number.eq(head.number),
                pending.r_en.eq(free),
            ]
        with m.Elif(self.watch.valid):
            m.d.comb += [
                chosen.kind.eq(WatchOperationKind.WATCH),
                chosen.qp.eq(self.watch.payload.qp),
                chosen.ev_index.eq(self.watch.payload.ev_index),
                self.watch.ready.eq(free),
            ]
        with m.Else():
            m.d.comb += [
                chosen.kind.eq(WatchOperationKind.WALK),
                chosen.qp.eq(walk_qp),
                chosen.ev_index.eq(walk_ev),
                valid.eq(free & walking),
                walked.eq(free & walking),
            ]
        return valid

    def _oldest(self, m, pending):
        """Return whether the oldest probe has waited for too long, and which one it is."""
        head = data.View(PendingProbe(self.config), pending.r_data)
        waited, looked, expired = Signal(NOW_BITS), Signal(), Signal()
        m.d.sync += [
            waited.eq(self.now - head.sent),
            looked.eq(pending.r_rdy & ~pending.r_en),
            expired.eq(looked & ~pending.r_en & (waited > self.settings.probe_timeout)),
        ]
        return expired, head

    def _walk(self, m, done):
        """Return whether the walk goes on, where it is, and what tells that it moves on."""
        config = self.config
        m.submodules.qps = qps = PendingSet(count=config.qps, adders=2)
        walking, qp = Signal(), Signal(index_bits(config.qps))
        ev_index, moves = Signal(index_bits(config.evs)), Signal()
        m.d.comb += qps.o.ready.eq(~walking)
        with m.If(~walking & qps.o.valid):
            m.d.sync += [walking.eq(1), qp.eq(qps.o.payload), ev_index.eq(0)]
        with m.If(moves):
            m.d.sync += ev_index.eq(ev_index + 1)
            with m.If(ev_index == config.evs - 1):
                m.d.sync += walking.eq(0)

        # Rows that stay watched bring the walk back to their QP.
        rule = m.submodules.rule
        walks = done & (rule.operation.kind == WatchOperationKind.WALK)
        m.d.comb += [
            qps.add[0].valid.eq(self.watch.valid & self.watch.ready),
            qps.add[0].index.eq(self.watch.payload.qp),
            qps.add[1].valid.eq(walks & (rule.after.answers != 0)),
            qps.add[1].index.eq(rule.operation.qp),
        ]
        return walking, qp, ev_index, moves

    def _send(self, m, sends, operation, number, numbers):
        probe = self.probes.payload
        with m.If(self.probes.ready):
            m.d.sync += self.probes.valid.eq(0)
        with m.If(sends):
            m.d.sync += [
                number.eq(Mux(number.all(), ProbeKind.PATH, number + 1)),
                self.probes.valid.eq(1),
                probe.qp.eq(operation.qp),
                probe.opcode.eq(Opcode.PROBE),
                probe.role.eq(Role.NO_TRIM),
                probe.avoid_ev.eq(operation.ev_index),
                probe.fixed.eq(1),
                probe.body.probe.probe_id.eq(Cat(number, operation.ev_index)),
                probe.body.probe.spdcid.eq(numbers.qpn),
                probe.body.probe.dpdcid.eq(numbers.remote_qpn),
                probe.body.probe.ftype.eq(1),
            ]

    def _tell(self, m, done, operation, rule):
        answered = done & (operation.kind == WatchOperationKind.ANSWERED)
        unanswered = done & (operation.kind == WatchOperationKind.UNANSWERED)
        event = self.ev_events.payload
        with m.If(self.ev_events.ready):
            m.d.sync += self.ev_events.valid.eq(0)
        with m.If((answered | unanswered) & rule.hit):
            m.d.sync += [
                self.ev_events.valid.eq(1),
                event.qp.eq(operation.qp),
                event.ev_index.eq(operation.ev_index),
                event.kind.eq(EvEventKind.UNANSWERED),
            ]
            with m.If(answered):
                m.d.sync += event.kind.eq(EvEventKind.ANSWERED)
                with m.If(operation.marked):
                    m.d.sync += event.kind.eq(EvEventKind.ANSWERED_MARKED)
        m.d.comb += [
            self.events.probe_sent.eq(done & rule.send),
            self.events.probe_answered.eq(answered & rule.hit),
            self.events.probe_unanswered.eq(unanswered & rule.hit),
            self.events.probe_stale.eq(answered & ~rule.hit),
            self.events.path_restored.eq(done & rule.ended),
        ]

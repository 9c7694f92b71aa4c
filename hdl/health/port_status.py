"""Which ports work, here and there."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import RemoteMask
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.serial import ahead

from .links import Confirmation, EndpointSend, Operation, StatusNotice

__all__ = ["TRIES", "PortStatus"]

#: How often a remote NIC is told the same.
TRIES = 8

_EVENTS = (
    "status_sent", "status_confirmed", "status_unconfirmed", "status_taken", "status_stale",
)  # fmt: skip


class _Row(data.StructLayout):
    """What a remote NIC has been told, and what it has told.

    Members
    -------
    valid : 1
        There is one.
    tries, told, due, confirmed : how often it was told; which identifier; when it is told again;
        it has answered, or does not.
    heard, newest : 1, 16
        It has told something; the newest identifier.
    """

    def __init__(self):
        super().__init__({
            "valid": 1,
            "tries": range(TRIES + 1),
            "told": 16,
            "due": NOW_BITS,
            "confirmed": 1,
            "heard": 1,
            "newest": 16,
        })


class _Kind(enum.Enum, shape=2):
    WALK = 0
    WRITE = 1
    CONFIRM = 2
    NOTICE = 3


class PortStatus(wiring.Component):
    """Tell every remote NIC which ports work here, and learn from each which work there.

    Whenever ``port_up`` changes, a new identifier stands for it, and a walk tells each remote NIC
    by an endpoint request (docs/protocol.md, "Ports"): on a port that is up, the next one for each
    packet; again, with another path, each ``settings.probe_timeout`` until it is confirmed, 8
    times at most. A NIC whose row is new is told, too. While no port is up nothing is sent.

    What a remote NIC tells counts if its identifier is newer than the newest before (serial
    arithmetic), and goes out by ``remote_masks`` 3 cycles after the notice was taken. Writing the
    row of a NIC forgets what it has told, so that one that starts anew is believed again; until it
    tells otherwise all its ports count as working.

    The walk takes two cycles for each row and waits for its packets to be taken; news goes first.
    So a change has been told to ``n`` remote NICs after ``2 * peers + 6 * n`` cycles, if lanes are
    ready. After reset all rows are cleared, in ``2 * peers`` cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows; those of remote NICs are used.
    notices : ``In(stream.Signature(StatusNotice(config)))``
        What they tell.
    confirmations : ``In(stream.Signature(Confirmation(config)))``
        That they have heard.
    sends : ``Out(stream.Signature(EndpointSend(config)))``
        Requests.
    remote_masks : ``Out(stream.Signature(RemoteMask(config)))``
        What changes: ports that work there.
    port_up : ``In(lanes)``
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    events : ``Out``
        ``status_sent``, ``status_confirmed``, ``status_unconfirmed`` (a NIC has not answered 8
        times), ``status_taken``, ``status_stale``.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "table": In(stream.Signature(TableWrite())),
            "notices": In(stream.Signature(StatusNotice(config))),
            "confirmations": In(stream.Signature(Confirmation(config))),
            "sends": Out(stream.Signature(EndpointSend(config))),
            "remote_masks": Out(stream.Signature(RemoteMask(config))),
            "port_up": In(config.lanes),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(data.StructLayout(dict.fromkeys(_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.known = memory = DeepMemory(_Row(), depth=self.config.peers)
        kind, peer, done = Signal(_Kind), Signal(index_bits(self.config.peers)), Signal()
        notice = Signal(StatusNotice(self.config))
        exists, confirmed = Signal(), Signal(16)
        identifier, mask = Signal(16), Signal(self.config.lanes)
        before, after = memory.data[0], memory.write.data
        m.d.comb += [
            memory.write.valid.eq(done),
            memory.write.row.eq(peer),
            after.eq(before),
        ]
        for port in (self.sends, self.remote_masks):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        m.d.sync += done.eq(self._choose(m, memory.row[0], done, kind, peer, notice, exists))
        m.d.sync += confirmed.eq(self.confirmations.payload.identifier)

        with m.If(self.port_up != mask):
            m.d.sync += [mask.eq(self.port_up), identifier.eq(identifier + 1)]

        with m.Switch(kind):
            with m.Case(_Kind.WALK):
                self._tell(m, done, peer, before, after, identifier, mask)
            with m.Case(_Kind.WRITE):
                m.d.comb += [after.eq(0), after.valid.eq(exists)]
                self._pass_on(m, done & exists, peer, (1 << self.config.lanes) - 1)
            with m.Case(_Kind.CONFIRM):
                fits = (before.tries != 0) & ~before.confirmed & (before.told == confirmed)
                with m.If(fits):
                    m.d.comb += after.confirmed.eq(1)
                m.d.comb += self.events.status_confirmed.eq(done & fits)
            with m.Case(_Kind.NOTICE):
                newer = ~before.heard | (ahead(notice.identifier, before.newest) > 0)
                with m.If(newer):
                    m.d.comb += [after.heard.eq(1), after.newest.eq(notice.identifier)]
                self._pass_on(m, done & newer, peer, notice.mask)
                m.d.comb += [
                    self.events.status_taken.eq(done & newer),
                    self.events.status_stale.eq(done & ~newer),
                ]

        return m

    def _choose(self, m, row, done, kind, peer, notice, exists):
        """Choose the next operation, and read its row; return whether there is one."""
        walk, cleared = Signal(index_bits(self.config.peers)), Signal()
        last = walk == self.config.peers - 1
        valid, chosen = Signal(), Signal(_Kind)
        free = ~done
        may_pass_on = free & ~self.remote_masks.valid
        table = self.table.payload
        layout = HeaderLayout(rows.PEER_ROW)
        written = data.View(layout, table.row[: layout.size])
        m.d.comb += [
            valid.eq(free & ~self.sends.valid),
            row.eq(walk),
            self.table.ready.eq(table.table != Table.PEER),
        ]
        m.d.sync += [kind.eq(chosen), peer.eq(row), notice.eq(self.notices.payload)]
        m.d.sync += exists.eq(written.valid & cleared)
        with m.If(~cleared):
            m.d.comb += [chosen.eq(_Kind.WRITE), valid.eq(free)]
            with m.If(free):
                m.d.sync += [walk.eq(walk + 1), cleared.eq(last)]
        with m.Elif(self.table.valid & (table.table == Table.PEER)):
            m.d.comb += [
                chosen.eq(_Kind.WRITE),
                row.eq(table.index),
                valid.eq(may_pass_on),
                self.table.ready.eq(may_pass_on),
            ]
        with m.Elif(self.notices.valid & ~self.remote_masks.valid):
            m.d.comb += [
                chosen.eq(_Kind.NOTICE),
                row.eq(self.notices.payload.peer),
                valid.eq(free),
                self.notices.ready.eq(free),
            ]
        with m.Elif(self.confirmations.valid):
            m.d.comb += [
                chosen.eq(_Kind.CONFIRM),
                row.eq(self.confirmations.payload.peer),
                valid.eq(free),
                self.confirmations.ready.eq(free),
            ]
        with m.Elif(free & ~self.sends.valid):
            m.d.sync += walk.eq(Mux(last, 0, walk + 1))
        return valid

    def _tell(self, m, done, peer, before, after, identifier, mask):
        """Tell a remote NIC what it does not know, if it is time to."""
        fresh, due = Signal(), Signal()
        plane = self._next_plane(m, mask, self.events.status_sent)
        m.d.comb += [
            fresh.eq((before.tries == 0) | (before.told != identifier)),
            due.eq(
                done
                & before.valid
                & (fresh | (~before.confirmed & (ahead(self.now, before.due) > 0)))
            ),
        ]
        with m.If(due & ~fresh & (before.tries == TRIES)):
            m.d.comb += [after.confirmed.eq(1), self.events.status_unconfirmed.eq(1)]
        with m.Elif(due & mask.any()):
            m.d.comb += [
                after.tries.eq(Mux(fresh, 1, before.tries + 1)),
                after.told.eq(identifier),
                after.due.eq(self.now + self.settings.probe_timeout),
                after.confirmed.eq(0),
                self.events.status_sent.eq(1),
            ]
            m.d.sync += [
                self.sends.valid.eq(1),
                self.sends.payload.peer.eq(peer),
                self.sends.payload.plane.eq(plane),
                self.sends.payload.operation.eq(Operation.PORT_STATUS),
                self.sends.payload.identifier.eq(identifier),
                self.sends.payload.mask.eq(mask),
            ]

    def _next_plane(self, m, mask, moves):
        """Return a port that is up, each time the next one."""
        lanes = range(self.config.lanes)
        last, plane = (Signal(index_bits(len(lanes)), name=name) for name in ("last", "plane"))
        for p in reversed(lanes):  # the later assignment wins
            with m.If(mask[p]):
                m.d.comb += plane.eq(p)
        for p in reversed(lanes[1:]):
            with m.If(mask[p] & (p > last)):
                m.d.comb += plane.eq(p)
        with m.If(moves):
            m.d.sync += last.eq(plane)
        return plane

    def _pass_on(self, m, moves, peer, mask):
        with m.If(moves):
            m.d.sync += [
                self.remote_masks.valid.eq(1),
                self.remote_masks.payload.peer.eq(peer),
                self.remote_masks.payload.mask.eq(mask),
            ]

"""The retransmit buffer: payload, scoreboard, timers and resends of all packets under way."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import (
    Acknowledgement,
    EvEvent,
    NackNotice,
    QpFailure,
    QpStop,
    Retired,
)
from mrcnic.hdl.descriptor.outwards import (
    AllocateRequest,
    FetchRequest,
    Picked,
    SlotRead,
    StoreBeat,
    TxRequest,
)
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS, slot_bits
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .allocator import Allocator
from .free_list import FreeList
from .nack_board import NackBoard, NackEvents
from .payload_store import PayloadStore, Stored
from .pick_log import PickLog
from .qp_states import QpStates
from .scoreboard import Scoreboard
from .sender import Sender, SenderEvents
from .slot_ledger import SlotFlip, SlotLedger
from .slot_rows import SlotRows
from .slot_survey import SlotSurvey
from .stream_queue import StreamQueue
from .walker import Walker, WalkerEvents

__all__ = ["RetransmitBuffer"]

# Who asks the memories that have several readers.
_SENDER, _WALKER, _NACKS = range(3)

#: Retired slots that may wait for the requester without holding up the walk.
_RETIRED_DEPTH = 16


class RetransmitBuffer(wiring.Component):
    """Hold every packet from its allocation to its acknowledgement, and send it as often as needed.

    A packet gets a slot; its payload is fetched into the slot, by any lane; it is sent; its lane
    reads the payload out of the slot. A walker looks at one slot per cycle: one that was
    acknowledged is retired, one that was lost is sent again, before all new packets, from the
    same slot. A slot is free again only when its packet is acknowledged (or its QP stopped) and
    no queued or running send, and no fetch, refers to it.

    Takes a packet in two cycles, sends one per cycle, takes an acknowledgement in two cycles, a
    NACK per cycle. ``retired`` must be taken without waiting for anything that this component
    does.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    allocate : ``In(stream.Signature(AllocateRequest(config)))``
        New packets.
    send : ``Out(stream.Signature(TxRequest(config)))``
        Packets that want a path.
    picked_valid, picked : ``In(1)``, ``In(Picked(config))``
        The paths they got.
    fetch, store : ``Out(stream.Signature(FetchRequest(config))).array(lanes)``, \
            ``In(stream.Signature(StoreBeat(config))).array(lanes)``
        Host memory to be read, and what was read. ``last`` comes once per request.
    read, payload : ``In(stream.Signature(SlotRead(config))).array(lanes)``, \
            ``Out(packet_signature(beat_octets)).array(lanes)``
        Slots that a lane wants, once per packet sent, and their payload.
    acknowledgement : ``In(stream.Signature(Acknowledgement(config)))``
    nack : ``In(stream.Signature(NackNotice(config)))``
    retired : ``Out(stream.Signature(Retired(config)))``
        Packets acknowledged; those of a stopped or failed QP end without.
    ev_events : ``Out(stream.Signature(EvEvent(config)))``
        EVs on which a packet was lost.
    probe : ``Out(stream.Signature(TxRequest(config)))``
        Reliability probes.
    failed : ``Out(stream.Signature(QpFailure(config)))``
        QPs that cannot go on, once each.
    stopped : ``In(stream.Signature(QpStop(config)))``
        QPs whose slots are to be freed.
    port_up : ``In(lanes)``
        Which planes can be used.
    table : ``In(stream.Signature(TableWrite()))``
        Rows from the host; one for a QP is taken when the QP has no slot any more.
    settings, now : ``In(Settings(config))``, ``In(24)``
    occupied : ``Out(range(slots + 1))``
        Slots in use.
    events : ``Out(...)``
        One-cycle pulses, by name.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        lanes = config.lanes
        self._events = (SenderEvents(), WalkerEvents(), NackEvents())
        names = {name: field.shape for layout in self._events for name, field in layout}
        super().__init__({
            "allocate": In(stream.Signature(AllocateRequest(config))),
            "send": Out(stream.Signature(TxRequest(config))),
            "picked_valid": In(1),
            "picked": In(Picked(config)),
            "fetch": Out(stream.Signature(FetchRequest(config))).array(lanes),
            "store": In(stream.Signature(StoreBeat(config))).array(lanes),
            "read": In(stream.Signature(SlotRead(config))).array(lanes),
            "payload": Out(packet_signature(config.beat_octets)).array(lanes),
            "acknowledgement": In(stream.Signature(Acknowledgement(config))),
            "nack": In(stream.Signature(NackNotice(config))),
            "retired": Out(stream.Signature(Retired(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "probe": Out(stream.Signature(TxRequest(config))),
            "failed": Out(stream.Signature(QpFailure(config))),
            "stopped": In(stream.Signature(QpStop(config))),
            "port_up": In(lanes),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "occupied": Out(range(config.slots + 1)),
            "events": Out(data.StructLayout(names)),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        parts = _Parts(config)
        for name, part in vars(parts).items():
            m.submodules[name] = part

        self._connect_slots(m, parts)
        self._connect_sends(m, parts)
        self._connect_walk(m, parts)
        self._connect_qps(m, parts)
        for part in (parts.sender, parts.walker, parts.nacks):
            for name, _ in part.events.shape():
                m.d.comb += self.events[name].eq(part.events[name])

        return m

    def _connect_slots(self, m, parts):
        """From a new packet to its slot, and back to the free list."""
        allocator, ledger, walker = parts.allocator, parts.ledger, parts.walker
        connect(m, flipped(self.allocate), allocator.i)
        connect(m, parts.free_list.o, allocator.slots)
        connect(m, allocator.open, parts.scoreboard.open)
        m.d.comb += [
            parts.rows.allocation.eq(allocator.allocation),
            parts.free_list.free.eq(walker.free),
            self.occupied.eq(parts.free_list.taken),
        ]
        for n in range(self.config.lanes):
            connect(m, allocator.fetch[n], flipped(self.fetch[n]))
            connect(m, flipped(self.store[n]), parts.payloads.store[n])
            connect(m, flipped(self.read[n]), parts.payloads.read[n])
            connect(m, parts.payloads.payload[n], flipped(self.payload[n]))
            connect(m, parts.payloads.stored[n], parts.fetched.i[n])
            connect(m, parts.payloads.done[n], parts.closes.i[n])
        connect(m, parts.sender.declined, parts.closes.i[-1])

        closes = parts.closes.o
        m.d.comb += closes.ready.eq(1)
        for kind, valid, slot in (
            (SlotFlip.ALLOCATE, allocator.allocation.valid, allocator.allocation.slot),
            (SlotFlip.RESEND, walker.resend.valid, walker.resend.slot),
            (SlotFlip.CLOSE, closes.valid, closes.payload),
            (SlotFlip.FREE, walker.free.valid, walker.free.slot),
        ):
            m.d.comb += [ledger.flip[kind].valid.eq(valid), ledger.flip[kind].slot.eq(slot)]

    def _connect_sends(self, m, parts):
        """From the two queues to the picks. A slot is in one of them at most, so both have room."""
        sender, walker = parts.sender, parts.walker
        connect(m, parts.fetched.o, parts.fresh.i)
        connect(m, parts.fresh.o, sender.fresh)
        connect(m, parts.resends.o, sender.resends)
        m.d.comb += [
            parts.resends.i.valid.eq(walker.resend.valid),
            parts.resends.i.payload.eq(walker.resend.slot),
        ]
        connect(m, sender.o, flipped(self.send))
        connect(m, sender.query, parts.scoreboard.query[_SENDER])
        m.d.comb += [
            parts.rows.enable.eq(sender.enable),
            parts.log.enable.eq(sender.enable),
            parts.rows.slot[_SENDER].eq(sender.slot),
            parts.log.slot[_SENDER].eq(sender.slot),
            sender.key.eq(parts.rows.key[_SENDER]),
            sender.contents.eq(parts.rows.contents),
            sender.sent.eq(parts.log.sent[_SENDER]),
            parts.log.picked_valid.eq(self.picked_valid),
            parts.log.picked.eq(self.picked),
            parts.log.now.eq(self.now),
        ]

    def _connect_walk(self, m, parts):
        """Everything that the walker looks at, and NACKs, which it looks at too."""
        survey, walker, nacks = parts.survey, parts.walker, parts.nacks
        connect(m, survey.query, parts.scoreboard.query[_WALKER])
        m.d.comb += [
            parts.rows.slot[_WALKER].eq(survey.slot),
            parts.log.slot[_WALKER].eq(survey.slot),
            parts.sender.asked.eq(survey.slot),
            nacks.asked.eq(survey.slot),
            survey.key.eq(parts.rows.key[_WALKER]),
            survey.sent.eq(parts.log.sent[_WALKER]),
            survey.resent.eq(parts.sender.resent),
            survey.refused.eq(nacks.refused),
            parts.ledger.slot.eq(survey.ledger_slot),
            survey.busy.eq(parts.ledger.busy),
            survey.occupied.eq(parts.ledger.occupied),
            parts.log.qp.eq(survey.query.at.qp),
            survey.last.eq(parts.log.last),
            survey.settings.eq(self.settings),
            survey.now.eq(self.now),
            survey.port_up.eq(self.port_up),
            walker.finding.eq(survey.finding),
            walker.next_qp.eq(survey.next_qp),
            walker.now.eq(self.now),
        ]

        connect(m, flipped(self.nack), nacks.i)
        m.d.comb += [
            parts.rows.at.eq(nacks.at),
            nacks.found.eq(parts.rows.found),
            parts.rows.slot[_NACKS].eq(nacks.slot),
            parts.log.slot[_NACKS].eq(nacks.slot),
            nacks.key.eq(parts.rows.key[_NACKS]),
            nacks.sent.eq(parts.log.sent[_NACKS]),
            parts.scoreboard.query[_NACKS].at.qp.eq(nacks.qp),
            nacks.cack.eq(parts.scoreboard.query[_NACKS].cack),
            nacks.now.eq(self.now),
        ]

        connect(m, walker.retired, parts.retired.i)
        connect(m, parts.retired.o, flipped(self.retired))
        connect(m, walker.ev_events, flipped(self.ev_events))
        connect(m, walker.probe, flipped(self.probe))
        connect(m, walker.failed, parts.failures.i[0])
        connect(m, parts.sender.failed, parts.failures.i[1])
        connect(m, parts.failures.o, flipped(self.failed))

    def _connect_qps(self, m, parts):
        """Start and stop of QPs."""
        states, survey = parts.states, parts.survey
        connect(m, flipped(self.table), states.table)
        connect(m, flipped(self.stopped), states.stops[0])
        connect(m, parts.sender.stop, states.stops[1])
        connect(m, states.clear_scoreboard, parts.scoreboard.create)
        connect(m, states.clear_walker, parts.walker.clear)
        connect(m, flipped(self.acknowledgement), parts.scoreboard.i)
        m.d.comb += [
            states.visit.eq(survey.visit),
            states.qp[0].eq(survey.query.at.qp),
            survey.stopped.eq(states.stopped[0]),
            survey.retry.eq(states.settings),
            states.qp[1].eq(parts.sender.query.at.qp),
            parts.sender.stopped.eq(states.stopped[1]),
        ]


class _Parts:
    def __init__(self, config):
        slot = slot_bits(config)
        self.allocator = Allocator(config)
        self.free_list = FreeList(config)
        self.ledger = SlotLedger(config)
        self.rows = SlotRows(config, readers=3)
        self.log = PickLog(config, readers=3)
        self.scoreboard = Scoreboard(config, readers=3)
        self.states = QpStates(config)
        self.payloads = PayloadStore(config)
        self.fetched = StreamArbiter(Stored(config), inputs=config.lanes)
        self.fresh = StreamQueue(Stored(config), depth=config.slots)
        self.resends = StreamQueue(slot, depth=config.slots)
        self.closes = StreamArbiter(slot, inputs=config.lanes + 1)
        self.sender = Sender(config)
        self.nacks = NackBoard(config)
        self.survey = SlotSurvey(config)
        self.walker = Walker(config)
        self.retired = StreamQueue(Retired(config), depth=_RETIRED_DEPTH)
        self.failures = StreamArbiter(QpFailure(config), inputs=2)

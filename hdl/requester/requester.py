"""The sending half of the transport."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.outcome import (
    Acknowledgement,
    Completion,
    EvEvent,
    NackNotice,
    ProbeAnswer,
    QpFailure,
    QpStop,
    Retired,
)
from mrcnic.hdl.descriptor.outwards import AllocateRequest, TxRequest, WorkRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .acknowledgement import AcknowledgementReceiver
from .completion import CompletionQueue
from .life import QpLife
from .prober import AckProber
from .segmenter import Segmenter
from .send_queue import SendQueue

__all__ = ["Requester"]


class Requester(wiring.Component):
    """Take work requests, make packets of them, and tell when they have ended.

    A packet of an idle requester is offered 5 cycles after its work request was. Rates: a work
    request in 2 cycles, a packet in 3, a response in 2. There are no more than
    ``config.send_queue`` work requests under way per QP: the next one makes all QPs wait.

    Until it has taken a row for a QP, a packet of the QP's former life may leave that had been
    offered before. So a room that takes packets should get the row after this one.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i, o : streams of ``WorkRequest`` and ``Completion``
        To and from the host. Completions of one QP are in order.
    allocate, retired, failed, stopped
        To and from the retransmit buffer: packets to be sent; packets that hold no credit any
        more; QPs that it gave up; QPs that it is to forget until it gets a new row for them.
    occupied : ``In(range(slots + 1))``
        Payload slots in use there: no QP gets more than its share.
    responses : ``In(stream.Signature(RxDescriptor(config)))``
        SACKs, NACKs, transport ACKs.
    acknowledgement, nack, ev_events : streams of ``Acknowledgement``, ``NackNotice``, ``EvEvent``
        What they say.
    probe_answers : ``Out(stream.Signature(ProbeAnswer(config)))``
        Answers to probes of an EV.
    probe : ``Out(stream.Signature(TxRequest(config)))``
        Reliability probes, to get a lost transport ACK again.
    table, settings, now
        Rows, settings, time.
    events : ``Out``
        Pulses to be counted.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.life = QpLife(config)
        self.receiver = AcknowledgementReceiver(config)
        self.prober = AckProber(config)
        self.reporters = (self.life, self.receiver, self.prober)
        super().__init__({
            "i": In(stream.Signature(WorkRequest(config))),
            "o": Out(stream.Signature(Completion(config))),
            "allocate": Out(stream.Signature(AllocateRequest(config))),
            "retired": In(stream.Signature(Retired(config))),
            "failed": In(stream.Signature(QpFailure(config))),
            "stopped": Out(stream.Signature(QpStop(config))),
            "occupied": In(range(config.slots + 1)),
            "responses": In(stream.Signature(RxDescriptor(config))),
            "acknowledgement": Out(stream.Signature(Acknowledgement(config))),
            "nack": Out(stream.Signature(NackNotice(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "probe_answers": Out(stream.Signature(ProbeAnswer(config))),
            "probe": Out(stream.Signature(TxRequest(config))),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(
                data.StructLayout({
                    name: 1 for part in self.reporters for name, _ in part.events.shape()
                })
            ),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        m.submodules.qp_life = life = self.life
        m.submodules.queue = queue = SendQueue(config)
        m.submodules.segmenter = segmenter = Segmenter(config)
        m.submodules.receiver = receiver = self.receiver
        m.submodules.completions = completions = CompletionQueue(config)
        m.submodules.prober = prober = self.prober
        parts = (life, queue, segmenter, receiver, completions, prober)

        # News: one part has each, the others listen.
        for name, source in (
            ("life", life),
            ("opened", life),
            ("pushed", queue),
            ("sent", segmenter),
            ("passed", segmenter),
            ("progress", receiver),
            ("popped", completions),
        ):
            m.d.comb += [
                getattr(part, name).eq(getattr(source, name))
                for part in parts
                if part is not source and name in part.signature.members
            ]

        m.d.comb += [
            queue.qp.eq(segmenter.qp),
            queue.position.eq(segmenter.position),
            segmenter.request.eq(queue.request),
            segmenter.occupied.eq(self.occupied),
            prober.settings.eq(self.settings),
            prober.now.eq(self.now),
        ]
        m.d.comb += [
            self.events[name].eq(part.events[name])
            for part in self.reporters
            for name, _ in part.events.shape()
        ]

        m.submodules.failures = failures = StreamArbiter(QpFailure(config), inputs=3)
        connect(m, flipped(self.failed), failures.i[0])
        connect(m, receiver.failed, failures.i[1])
        connect(m, prober.failed, failures.i[2])
        connect(m, failures.o, life.failures)

        connect(m, flipped(self.table), life.table)
        connect(m, life.stopped, flipped(self.stopped))
        connect(m, flipped(self.i), queue.i)
        connect(m, segmenter.o, flipped(self.allocate))
        connect(m, flipped(self.retired), segmenter.retired)
        connect(m, flipped(self.responses), receiver.responses)
        connect(m, receiver.acknowledgement, flipped(self.acknowledgement))
        connect(m, receiver.nack, flipped(self.nack))
        connect(m, receiver.ev_events, flipped(self.ev_events))
        connect(m, receiver.probe_answers, flipped(self.probe_answers))
        connect(m, completions.o, flipped(self.o))
        connect(m, prober.o, flipped(self.probe))

        return m

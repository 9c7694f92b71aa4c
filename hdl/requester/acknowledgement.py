"""What the peer says of packets and messages."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.outcome import (
    Acknowledgement,
    EvEvent,
    EvEventKind,
    NackNotice,
    ProbeAnswer,
    QpFailure,
    Status,
)
from mrcnic.hdl.wire.opcodes import NackReason, Opcode, ProbeKind, Syndrome

from .links import LifeNews, Opened, Progress, Sent
from .response_comparison import ResponseComparison
from .response_reader import ResponseReader

__all__ = ["AcknowledgementReceiver"]

#: What became of responses that changed nothing, or not all they could.
_EVENTS = (
    "rx_unknown_qp",
    "rx_unknown_response",
    "sack_stale",
    "sack_never_sent",
    "nack_stale",
    "ack_stale",
    "ack_never_sent",
    "ack_unknown_syndrome",
)


class AcknowledgementReceiver(wiring.Component):
    """Judge SACKs, NACKs and transport ACKs by what their QP has sent.

    Only what was sent can be acknowledged, and that is judged by the highest PSN ever sent: a
    SACK that goes beyond it is ignored whole. Where that was agreed upon, SACKs tell of the peer's
    window; those of old ones count no more. An old SACK takes nothing back, but its bits above
    the acknowledged PSN are news. Marks, and NACKs of packets trimmed in the fabric, are news of
    the EV that they echo (docs/protocol.md, "Requester"). A response is taken each two cycles; an
    :class:`~mrcnic.hdl.descriptor.outcome.Acknowledgement` is offered six cycles after its SACK.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    responses : ``In(stream.Signature(RxDescriptor(config)))``
        SACKs, NACKs, transport ACKs.
    life, opened, sent : ``In``
        News.
    progress : ``Out``
        News.
    acknowledgement, nack, ev_events, failed : ``Out``
        Streams of ``Acknowledgement``, ``NackNotice``, ``EvEvent`` and ``QpFailure``.
    probe_answers : ``Out(stream.Signature(ProbeAnswer(config)))``
        Answers to probes of an EV.
    events : ``Out``
        ``rx_unknown_qp``, ``rx_unknown_response``, ``sack_stale``, ``sack_never_sent``,
        ``nack_stale``, ``ack_stale``, ``ack_never_sent``, ``ack_unknown_syndrome``.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "responses": In(stream.Signature(RxDescriptor(config))),
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "sent": In(Sent(config)),
            "progress": Out(Progress(config)),
            "acknowledgement": Out(stream.Signature(Acknowledgement(config))),
            "nack": Out(stream.Signature(NackNotice(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "failed": Out(stream.Signature(QpFailure(config))),
            "probe_answers": Out(stream.Signature(ProbeAnswer(config))),
            "events": Out(data.StructLayout(dict.fromkeys(_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.reader = reader = ResponseReader(self.config)
        m.submodules.compared = compared = ResponseComparison(self.config)
        connect(m, flipped(self.responses), reader.i)
        connect(m, reader.o, compared.i)
        m.d.comb += [
            compared.life.eq(self.life),
            compared.opened.eq(self.opened),
            compared.sent.eq(self.sent),
            compared.progress.eq(self.progress),
        ]
        found = compared.o.payload
        response = found.response
        may_go, taken = Signal(), Signal()
        m.d.comb += compared.o.ready.eq(may_go & ~self.opened.valid)
        m.d.comb += taken.eq(compared.o.valid & compared.o.ready)

        held = Signal(Acknowledgement(self.config))  # its bits still to be masked
        held_valid, held_free, cut = Signal(), Signal(), Signal(7)
        self._mask(m, held, held_valid, held_free, cut)

        moved, progress = (
            Signal(data.StructLayout({"cack": 1, "messages": 1, "mpr": 1})),
            self.progress,
        )
        m.d.comb += [
            progress.valid.eq(moved.as_value().any()),
            progress.qp.eq(response.qp),
            progress.cack.eq(Mux(moved.cack, response.psn, found.reached.cack)),
            progress.messages.eq(Mux(moved.messages, response.messages, found.reached.messages)),
            progress.mpr.eq(response.mpr),
            progress.mpr_moved.eq(moved.mpr),
            progress.cack_moved.eq(moved.cack),
            progress.messages_moved.eq(moved.messages),
        ]
        for port in (self.nack, self.ev_events, self.failed, self.probe_answers):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        m.d.comb += may_go.eq(1)
        with m.If(~found.known):
            m.d.comb += self.events.rx_unknown_qp.eq(taken)
        with m.Else(), m.Switch(response.opcode):
            with m.Case(Opcode.SACK):
                m.d.comb += may_go.eq(
                    held_free & self._free(self.ev_events) & self._free(self.probe_answers)
                )
                self._take_sack(m, taken, found, moved, held, held_valid, cut)
            with m.Case(Opcode.NACK):
                m.d.comb += may_go.eq(
                    self._free(self.nack) & self._free(self.ev_events) & self._free(self.failed)
                )
                self._take_nack(m, taken, found)
            with m.Case(Opcode.ACK):
                m.d.comb += may_go.eq(self._free(self.failed))
                self._take_ack(m, taken, found, moved)
            with m.Default():
                m.d.comb += self.events.rx_unknown_response.eq(taken)

        return m

    @staticmethod
    def _free(port):
        return ~port.valid | port.ready

    def _take_sack(self, m, taken, found, moved, held, held_valid, cut):
        response, at = found.response, found.at
        with m.If(found.sack_beyond):
            m.d.comb += self.events.sack_never_sent.eq(taken)
        with m.Elif(taken):
            m.d.comb += [
                self.events.sack_stale.eq(found.cack_gain < 0),
                moved.cack.eq(found.cack_gain > 0),
                moved.mpr.eq(found.tells_window & (found.cack_gain >= 0)),
            ]
            m.d.sync += [
                held_valid.eq(1),
                held.qp.eq(response.qp),
                held.cack.eq(self.progress.cack),
                held.base.eq(response.base),
                held.bitmap.eq(response.bitmap),
                held.probe.eq(response.probe),
                held.probe_id.eq(response.probe_id),
                held.trigger_resent.eq(response.resent),
                held.trigger.eq(response.trigger),
                cut.eq(Mux(at < 0, 0, Mux(at > 64, 64, at))),
            ]
            with m.If(response.probe & (response.probe_id[:8] >= ProbeKind.PATH)):
                m.d.sync += [
                    self.probe_answers.valid.eq(1),
                    self.probe_answers.payload.qp.eq(response.qp),
                    self.probe_answers.payload.probe_id.eq(response.probe_id),
                    self.probe_answers.payload.marked.eq(response.mark == 1),
                ]
            with m.If(response.mark == 1):
                self._tell_of_ev(m, response, EvEventKind.SKIP)
            with m.Elif(response.mark == 2):
                self._tell_of_ev(m, response, EvEventKind.BAD)

    def _mask(self, m, held, held_valid, held_free, cut):
        """Clear the bits below `cut`, and pass the SACK on."""
        free = self._free(self.acknowledgement)
        m.d.comb += held_free.eq(~held_valid | free)
        with m.If(free):
            m.d.sync += [
                held_valid.eq(0),
                self.acknowledgement.valid.eq(held_valid),
                self.acknowledgement.payload.eq(held),
                self.acknowledgement.payload.bitmap.eq(
                    held.bitmap & Cat(n >= cut for n in range(64))
                ),
            ]

    def _take_nack(self, m, taken, found):
        response = found.response
        with m.If((found.cack_gain <= 0) | found.nack_beyond):
            m.d.comb += self.events.nack_stale.eq(taken)
        with m.Elif(taken & (response.reason == NackReason.UNEXPECTED)):
            self._fail(m, response.qp, Status.REMOTE_ERROR)
        with m.Elif(taken):
            with m.If(response.reason == NackReason.TRIMMED):
                self._tell_of_ev(m, response, EvEventKind.SKIP)
            m.d.sync += [
                self.nack.valid.eq(1),
                self.nack.payload.qp.eq(response.qp),
                self.nack.payload.psn.eq(response.psn),
                self.nack.payload.reason.eq(response.reason),
            ]

    def _take_ack(self, m, taken, found, moved):
        response, gain, beyond = found.response, found.message_gain, found.ack_beyond
        with m.If(response.syndrome[4:] == Syndrome.NAK_ACCESS >> 4):
            # A NAK also says how many messages had ended before.
            m.d.comb += moved.messages.eq(taken & (gain > 0) & ~beyond)
            with m.If(taken & (response.syndrome == Syndrome.NAK_ACCESS)):
                self._fail(m, response.qp, Status.REMOTE_ACCESS)
            with m.Elif(taken):
                self._fail(m, response.qp, Status.REMOTE_ERROR)
        with m.Elif(response.syndrome != Syndrome.ACK):
            m.d.comb += self.events.ack_unknown_syndrome.eq(taken)
        with m.Elif(beyond):
            m.d.comb += self.events.ack_never_sent.eq(taken)
        with m.Else():
            m.d.comb += [
                self.events.ack_stale.eq(taken & (gain < 0)),
                moved.messages.eq(taken & (gain > 0)),
            ]

    def _tell_of_ev(self, m, response, kind):
        m.d.sync += [
            self.ev_events.valid.eq(1),
            self.ev_events.payload.qp.eq(response.qp),
            self.ev_events.payload.kind.eq(kind),
            self.ev_events.payload.echoed.eq(1),
            self.ev_events.payload.ev.eq(response.entropy),
            self.ev_events.payload.ev_index.eq(response.entropy[16:24]),
        ]

    def _fail(self, m, qp, status):
        m.d.sync += [
            self.failed.valid.eq(1),
            self.failed.payload.qp.eq(qp),
            self.failed.payload.status.eq(status),
        ]

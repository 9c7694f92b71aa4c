"""Responses of the peer, compared with what their QP has sent and what has come back."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.serial import ahead

from .links import Life, LifeNews, Opened, Progress, Sent
from .places import ReachedPlace, SentPlace, write_places
from .qp_memory import QpMemory
from .response_reader import Response

__all__ = ["ComparedResponse", "ResponseComparison"]


class ComparedResponse(data.StructLayout):
    """A response, and what is to be known of its QP.

    Members
    -------
    response : :class:`~mrcnic.hdl.requester.response_reader.Response`
    known : 1
        The QP is open, and the number is its own.
    reached : :class:`~mrcnic.hdl.requester.places.ReachedPlace`
        How far the QP had come.
    cack_gain, message_gain : 2, signed
        Whether its PSN, and its number of messages, are behind that (-1), the same, or ahead (1).
    tells_window : 1
        The window in it counts, if it is not an old one.
    sack_beyond, nack_beyond, ack_beyond : 1
        It tells of what was never sent.
    at : 24, signed
        Bits of the SACK from this one on are of PSNs above all that is acknowledged.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "response": Response(config),
            "known": 1,
            "reached": ReachedPlace(),
            "cack_gain": signed(2),
            "message_gain": signed(2),
            "tells_window": 1,
            "sack_beyond": 1,
            "nack_beyond": 1,
            "ack_beyond": 1,
            "at": signed(24),
        })


class ResponseComparison(wiring.Component):
    """Look up the QP of a response, and compare.

    A response is offered two cycles after it came, and one is taken each two cycles. What the
    response before it has changed is taken into account.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(Response(config)))``
        Responses.
    o : ``Out(stream.Signature(ComparedResponse(config)))``
        The same. If the QP ends while one is on offer, it is not ``known`` any more.
    life, opened, sent, progress : ``In``
        News; ``progress`` may come in the cycle in which ``o`` is taken, and in no other.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(Response(config))),
            "o": Out(stream.Signature(ComparedResponse(config))),
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "sent": In(Sent(config)),
            "progress": In(Progress(config)),
        })

    def elaborate(self, platform):
        m = Module()

        response, o = self.i.payload, self.o.payload
        open_, own, sent, reached = self._memories(m, response.qp)

        # What was read is only good if nobody's life was written at the same time.
        looked, disturbed = Signal(), Signal()
        m.d.sync += [
            looked.eq(self.i.valid & ~self.i.ready & ~m.submodules.reached.clearing),
            disturbed.eq(self.life.valid),
        ]
        m.d.comb += self.i.ready.eq(looked & ~disturbed & ~self.life.valid & ~self.o.valid)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += self.o.valid.eq(1)
            self._compare(m, sent, reached)
            m.d.sync += [
                o.known.eq(open_ & (own.qpn == response.dqp)),
                o.tells_window.eq(own.dynamic_mpr & (response.mpr != 0)),
            ]
        with m.If(self.life.valid & (self.life.qp == o.response.qp)):
            m.d.sync += o.known.eq(0)

        return m

    def _compare(self, m, sent, reached):
        response, o = self.i.payload, self.o.payload
        gain = ahead(response.psn, reached.cack)
        message_gain = ahead(response.messages, reached.messages)
        beyond = ahead(response.psn, sent.next_psn) >= 0
        m.d.sync += [
            o.response.eq(response),
            o.reached.eq(reached),
            o.cack_gain.eq(Mux(gain < 0, -1, gain != 0)),
            o.message_gain.eq(Mux(message_gain < 0, -1, message_gain != 0)),
            o.nack_beyond.eq(beyond),
            o.sack_beyond.eq(beyond | (response.any & (ahead(response.top, sent.next_psn) >= 0))),
            o.ack_beyond.eq(ahead(sent.messages, response.messages) < 0),
            o.at.eq(
                Mux(gain < 0, ahead(reached.cack, response.below), response.at_cack.as_signed())
            ),
        ]

    def _memories(self, m, qp):
        """Return whether the QP is open, its row, what it has sent, how far that has come."""
        qps = self.config.qps
        m.submodules.lives = lives = QpMemory(1, count=qps)
        own = data.StructLayout({"qpn": 24, "dynamic_mpr": 1})
        m.submodules.numbers = numbers = QpMemory(own, count=qps)
        m.submodules.sent = sent = QpMemory(SentPlace(), count=qps)
        m.submodules.reached = reached = QpMemory(ReachedPlace(), count=qps)
        opened = self.opened
        for copy in (lives, numbers, sent, reached):
            m.d.comb += copy.index[0].eq(qp)
        m.d.comb += [
            lives.write.valid.eq(self.life.valid),
            lives.write.index.eq(self.life.qp),
            lives.write.value.eq(self.life.life == Life.OPEN),
            numbers.write.valid.eq(opened.valid),
            numbers.write.index.eq(opened.qp),
            numbers.write.value.qpn.eq(opened.row.qpn),
            numbers.write.value.dynamic_mpr.eq(opened.row.dynamic_mpr),
        ]
        write_places(m, sent, reached, self.sent, self.progress, opened)

        # What was written in the cycle of the reading is not in the memory yet.
        again, news, newest = Signal(), Signal(ReachedPlace()), Signal(ReachedPlace())
        m.d.sync += [
            again.eq(self.progress.valid & (self.progress.qp == qp)),
            news.cack.eq(self.progress.cack),
            news.messages.eq(self.progress.messages),
        ]
        m.d.comb += newest.eq(Mux(again, news.as_value(), reached.value[0].as_value()))
        return lives.value[0], numbers.value[0], sent.value[0], newest

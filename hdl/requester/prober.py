"""Transport ACKs that got lost."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import QpFailure, Status
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.wire.opcodes import Opcode, ProbeKind, Role

from .links import Life, LifeNews, Opened, Progress, Sent
from .places import ReachedPlace, SentPlace, write_places
from .qp_memory import QpMemory

__all__ = ["NEVER", "AckProber"]

#: Number of doublings that stands for trying for ever.
NEVER = 25

#: Exponent of the longest time-out: 2**23 ticks are 1.07 s.
_LONGEST = NOW_BITS - 1


class _Wait(data.StructLayout):
    """How long a QP has waited, and for what."""

    def __init__(self):
        super().__init__({
            "since": NOW_BITS,
            "interval": NOW_BITS,
            "tries": 6,
            "next_psn": 24,
            "cack": 24,
            "messages": 24,
        })


class AckProber(wiring.Component):
    """Ask again where all packets have arrived, and the transport ACK has not.

    A walk looks at a QP each two cycles. Where all packets sent are acknowledged, but not all
    messages, and nothing has changed for the QP's time-out of ``8 << timeout`` ticks, a
    reliability probe leaves, which makes the peer repeat its transport ACK. The time-out holds
    ``linear_count`` more times and then doubles with each probe, up to 1 s. After ``linear_count
    + exponential_count`` probes without an answer the QP fails, unless ``exponential_count`` is
    25 or the host has turned the limit off.

    Where cack lags behind, there may be packets under way, which have time-outs of their own; or
    the bits of SACKs have acknowledged them all, and the SACK that says so by its cack was lost:
    then nobody else would ever ask. So twice the time is waited there.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    life, opened, sent, progress : ``In``
        News.
    settings : ``In(Settings(config))``
        Uses ``retry_limit_off``.
    now : ``In(NOW_BITS)``
        Time.
    o : ``Out(stream.Signature(TxRequest(config)))``
        Probes, of the kind :attr:`~mrcnic.hdl.wire.opcodes.ProbeKind.ACK`.
    failed : ``Out(stream.Signature(QpFailure(config)))``
        QPs that have asked often enough.
    events : ``Out``
        ``ack_missing``: a probe was sent.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "sent": In(Sent(config)),
            "progress": In(Progress(config)),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "o": Out(stream.Signature(TxRequest(config))),
            "failed": Out(stream.Signature(QpFailure(config))),
            "events": Out(data.StructLayout({"ack_missing": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        qp, looked = Signal(index_bits(self.config.qps)), Signal()
        open_, sent, reached, fixed = self._memories(m, qp)
        m.submodules.waits = waits = QpMemory(_Wait(), count=self.config.qps)
        m.d.comb += [waits.index[0].eq(qp), waits.write.index.eq(qp)]
        was, wait = waits.value[0], waits.write.value

        m.d.sync += looked.eq(~looked & ~waits.clearing)
        with m.If(looked):
            m.d.sync += qp.eq(qp + 1)

        waiting = (
            open_
            & (reached.messages != sent.messages)
            & (was.next_psn == sent.next_psn)
            & (was.cack == reached.cack)
            & (was.messages == reached.messages)
        )
        waited = (self.now - was.since)[:NOW_BITS]
        lags = (reached.cack + 1)[:24] != sent.next_psn
        # Both are compared, so that no comparison waits for the other.
        over = Mux(lags, (waited >> 1) > was.interval, waited > was.interval)
        limited = (fixed.exponential_count != NEVER) & ~self.settings.retry_limit_off
        exhausted = limited & (was.tries >= fixed.linear_count + fixed.exponential_count)
        due = looked & waiting & over & ~self.o.valid & ~self.failed.valid
        asks = due & ~exhausted

        shortest = Const(1) << Mux(fixed.timeout < _LONGEST - 3, fixed.timeout + 3, _LONGEST)
        linear = (was.tries < fixed.linear_count) | was.interval[-1]
        longer = Mux(linear, was.interval, was.interval << 1)
        m.d.comb += [
            self.events.ack_missing.eq(asks),
            waits.write.valid.eq(looked & (~waiting | asks)),
            wait.since.eq(self.now),
            wait.next_psn.eq(sent.next_psn),
            wait.cack.eq(reached.cack),
            wait.messages.eq(reached.messages),
            wait.tries.eq(Mux(waiting, was.tries + ~was.tries.all(), 0)),
            wait.interval.eq(Mux(waiting, longer, shortest)),
        ]
        for port in (self.o, self.failed):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        with m.If(due & exhausted):
            m.d.sync += [
                self.failed.valid.eq(1),
                self.failed.payload.qp.eq(qp),
                self.failed.payload.status.eq(Status.RETRY_EXCEEDED),
            ]
        with m.If(self.events.ack_missing):
            self._probe(m, qp, fixed)

        return m

    def _probe(self, m, qp, fixed):
        serial = Signal(8)
        body = self.o.payload.body.probe
        m.d.sync += [
            serial.eq(serial + 1),
            self.o.valid.eq(1),
            self.o.payload.qp.eq(qp),
            self.o.payload.opcode.eq(Opcode.PROBE),
            self.o.payload.role.eq(Role.NO_TRIM),
            body.probe_id.eq(ProbeKind.ACK | serial << 8),
            body.spdcid.eq(fixed.qpn),
            body.dpdcid.eq(fixed.remote_qpn),
            body.ftype.eq(1),
        ]

    def _memories(self, m, qp):
        """Return whether the QP is open, what it has sent, what was reached, what is fixed."""
        qps, row = self.config.qps, self.opened.row
        m.submodules.lives = lives = QpMemory(1, count=qps)
        m.submodules.sent = sent = QpMemory(SentPlace(), count=qps)
        m.submodules.reached = reached = QpMemory(ReachedPlace(), count=qps)
        fields = {"timeout": 5, "linear_count": 3, "exponential_count": 5}
        fields |= {"qpn": 16, "remote_qpn": 16}
        m.submodules.fixed = fixed = QpMemory(data.StructLayout(fields), count=qps)
        for copy in (lives, sent, reached, fixed):
            m.d.comb += copy.index[0].eq(qp)
        m.d.comb += [
            lives.write.valid.eq(self.life.valid),
            lives.write.index.eq(self.life.qp),
            lives.write.value.eq(self.life.life == Life.OPEN),
            fixed.write.valid.eq(self.opened.valid),
            fixed.write.index.eq(self.opened.qp),
            *(fixed.write.value[name].eq(row[name]) for name in fields),
        ]
        write_places(m, sent, reached, self.sent, self.progress, self.opened)
        return lives.value[0], sent.value[0], reached.value[0], fixed.value[0]

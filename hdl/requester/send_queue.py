"""Work requests that wait, a ring for each QP."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import WorkRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import Life, LifeNews, Opened, Popped, Pushed, pmtu_code, position_bits
from .qp_memory import QpMemory

__all__ = ["QueuedRequest", "SendQueue"]


class QueuedRequest(data.StructLayout):
    """A work request in its ring; ``refused`` says that nothing is to be sent for it."""

    def __init__(self):
        super().__init__({
            "local_address": 64,
            "remote_address": 64,
            "rkey": 32,
            "octets": 32,
            "immediate": 32,
            "with_immediate": 1,
            "refused": 1,
        })


class SendQueue(wiring.Component):
    """Keep the work requests of each QP in a ring, until they have ended.

    Requests of closed QPs, empty ones and those of 2**23 packets or more (half of the PSNs) are
    marked as refused and queue up as all others do, so that completions keep their order.

    There is one input for all QPs: where a ring is full, all of them wait. Software must not have
    more than ``config.send_queue`` requests under way per QP. A request is in its ring the cycle
    after it was offered; one each two cycles is taken.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(WorkRequest(config)))``
        Work requests.
    life, opened, popped : ``In``
        News.
    pushed : ``Out(Pushed(config))``
        News.
    qp, position : ``In``
        Which request to read.
    request : ``Out(QueuedRequest())``
        That request, a cycle later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(WorkRequest(config))),
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "popped": In(Popped(config)),
            "pushed": Out(Pushed(config)),
            "qp": In(index_bits(config.qps)),
            "position": In(position_bits(config)),
            "request": Out(QueuedRequest()),
        })

    def elaborate(self, platform):
        m = Module()

        qps, length = self.config.qps, self.config.send_queue
        request, pushed = self.i.payload, self.pushed
        m.submodules.tails = tails = QpMemory(position_bits(self.config), count=qps)
        m.submodules.heads = heads = QpMemory(position_bits(self.config), count=qps)
        m.submodules.lives = lives = QpMemory(Life, count=qps)
        m.submodules.codes = codes = QpMemory(3, count=qps)
        for copy, news, value in (
            (tails, pushed, pushed.position + 1),
            (heads, self.popped, self.popped.done),
            (lives, self.life, self.life.life),
            (codes, self.opened, self.opened.row.mtu_code),
        ):
            m.d.comb += copy.write.valid.eq(news.valid)
            m.d.comb += copy.write.index.eq(news.qp)
            m.d.comb += copy.write.value.eq(value)
            m.d.comb += copy.index[0].eq(request.qp)

        # What was read is only good if the QP's life was not written at the same time.
        looked, disturbed = Signal(), Signal()
        m.d.sync += disturbed.eq(self.life.valid)
        full = (tails.value[0] - heads.value[0])[: position_bits(self.config)] == length
        m.d.comb += self.i.ready.eq(looked & ~disturbed & ~full)
        m.d.sync += looked.eq(self.i.valid & ~self.i.ready & ~tails.clearing)

        m.d.comb += [
            pushed.valid.eq(self.i.valid & self.i.ready),
            pushed.qp.eq(request.qp),
            pushed.position.eq(tails.value[0]),
            pushed.identifier.eq(request.identifier),
            pushed.with_immediate.eq(request.with_immediate),
            pushed.refused.eq(
                (lives.value[0] == Life.CLOSED)
                | (request.octets == 0)
                | self._too_long(request.octets, codes.value[0])
            ),
        ]

        entry = Signal(QueuedRequest())
        m.d.comb += [
            entry[name].eq(request[name]) for name, _ in QueuedRequest() if name != "refused"
        ]
        m.d.comb += entry.refused.eq(pushed.refused)
        low = index_bits(length)
        m.submodules.ring = ring = DeepMemory(QueuedRequest(), depth=qps * length)
        m.d.comb += [
            ring.write.valid.eq(pushed.valid),
            ring.write.row.eq(Cat(pushed.position[:low], pushed.qp)),
            ring.write.data.eq(entry),
            ring.row[0].eq(Cat(self.position[:low], self.qp)),
            self.request.eq(ring.data[0]),
        ]

        return m

    def _too_long(self, octets, code):
        """Return whether ``octets`` make 2**23 packets or more."""
        most = (1 << 23) - 1
        return Mux(
            code == 0,
            octets > most * 256,
            (code == 1) & (octets > most * 512) if pmtu_code(self.config) > 0 else 0,
        )

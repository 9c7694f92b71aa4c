"""How far a QP has come, at both ends."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data

from .links import Opened, Progress, Sent
from .qp_memory import QpMemory

__all__ = ["ReachedPlace", "SentPlace", "write_places"]


class SentPlace(data.StructLayout):
    """PSN of the next packet; number of messages sent whole."""

    def __init__(self):
        super().__init__({"next_psn": 24, "messages": 24})


class ReachedPlace(data.StructLayout):
    """Highest PSN before the first gap at the peer; number of messages done there."""

    def __init__(self):
        super().__init__({"cack": 24, "messages": 24})


def write_places(
    m: Module,
    sent: QpMemory,
    reached: QpMemory,
    sent_news: Sent,
    progress: Progress,
    opened: Opened,
):
    """Keep in two memories what the news tell. No other news comes when a QP opens."""
    start = opened.row.tx_psn
    m.d.comb += [
        sent.write.valid.eq(opened.valid | sent_news.valid),
        sent.write.index.eq(Mux(opened.valid, opened.qp, sent_news.qp)),
        sent.write.value.next_psn.eq(Mux(opened.valid, start, sent_news.next_psn)),
        sent.write.value.messages.eq(Mux(opened.valid, 0, sent_news.messages)),
        reached.write.valid.eq(opened.valid | progress.valid),
        reached.write.index.eq(Mux(opened.valid, opened.qp, progress.qp)),
        reached.write.value.cack.eq(Mux(opened.valid, (start - 1)[:24], progress.cack)),
        reached.write.value.messages.eq(Mux(opened.valid, 0, progress.messages)),
    ]

"""Logs of transfers that nobody has simulated."""

from mrcnic.sim.bench.packet_log import PacketRecord

__all__ = ["bad", "good", "log", "lost", "probe", "write"]


def write(time_us, psn, ev, *, qp=0, arrives=True, place=None):
    """A write that A sends, and that takes 3 us if it arrives."""
    sent = PacketRecord(
        time_us, place or f"a{ev // 32}", "WRITE", qp, psn, ev, False, 4096, time_us - 0.3
    )
    there = sent._replace(time_us=time_us + 3, place=f"b{ev // 32}", began_us=time_us + 3)
    return {"sent": [sent], "arrived": [there] if arrives else []}


def lost(time_us, psn, ev, *, qp=0):
    """A write that is lost 1 us after it was sent."""
    sent = write(time_us, psn, ev, qp=qp, arrives=False)
    gone = sent["sent"][0]._replace(time_us=time_us + 1, place="p0t00-p0t10", began_us=time_us + 1)
    return {**sent, "lost": [gone]}


def probe(time_us, ev, number, *, qp=0, answered=True):
    """A probe, and its answer 5 us later."""
    name = ev << 8 | number
    sent = PacketRecord(time_us, "a0", "PROBE", qp, name, ev, False, 0, time_us)
    answer = sent._replace(time_us=time_us + 5, kind="ANSWER", place="a1", began_us=time_us + 5)
    return {"sent": [sent], "arrived": [answer] if answered else []}


def bad(time_us, ev, *, qp=0):
    return {"ev_news": [(time_us, "a", qp, ev, "GOOD", "ASSUMED_BAD")]}


def good(time_us, ev, *, qp=0):
    return {"ev_news": [(time_us, "a", qp, ev, "ASSUMED_BAD", "GOOD")]}


def log(*parts, signs=(), samples=()):
    """Return all of these together."""
    names = ("sent", "arrived", "lost", "ev_news")
    whole = {name: [item for part in parts for item in part.get(name, ())] for name in names}
    return {**whole, "ev_samples": list(samples), "port_signs": list(signs)}

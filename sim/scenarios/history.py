"""What a simulation with a log has shown, in answers to the questions that scenarios ask."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from mrcnic.sim.bench.packet_log import PacketRecord

__all__ = ["EvChange", "History", "Loss"]


class EvChange(NamedTuple):
    """News of an EV."""

    time_us: float
    qp: int
    ev: int
    old: str
    new: str


class Loss(NamedTuple):
    """A write that was lost.

    Attributes
    ----------
    sent_us, lost_us : :class:`float`
        When it left the sender, and when it was lost.
    qp, psn, ev : :class:`int`
        Which packet, and by which EV.
    repaired_us : :class:`float` or None
        When the packet was at the receiver, if ever.
    """

    sent_us: float
    lost_us: float
    qp: int
    psn: int
    ev: int
    repaired_us: float | None


class History:
    """Packets, EVs and ports of a transfer from A to B. Times are in microseconds.

    Parameters
    ----------
    log : :class:`dict`
        As :class:`mrcnic.sim.bench.recorder.Recorder` gathers it, through JSON or not.
    """

    def __init__(self, log: dict):
        self.sent, self.arrived, self.lost = (
            sorted(PacketRecord(*row) for row in log[name]) for name in ("sent", "arrived", "lost")
        )
        self.changes = sorted(
            EvChange(time_us, *rest) for time_us, side, *rest in log["ev_news"] if side == "a"
        )
        self.samples = [(time_us, states) for time_us, states in log["ev_samples"]]
        self.signs = sorted((time_us, port, good) for time_us, port, good in log["port_signs"])

    @cached_property
    def writes(self) -> list[PacketRecord]:
        """Writes that A has sent."""
        return [record for record in self.sent if record.kind == "WRITE"]

    @cached_property
    def end_us(self) -> float:
        """When A sent its last write."""
        return max((record.time_us for record in self.writes), default=0.0)

    @cached_property
    def losses(self) -> list[Loss]:
        """Writes that were lost, in the order of their losses."""
        sent, arrived = defaultdict(list), defaultdict(list)
        for record in self.writes:
            sent[record.qp, record.number].append(record)
        for record in self.arrived:
            if record.kind == "WRITE":
                arrived[record.qp, record.number].append(record.time_us)
        losses = []
        for record in self.lost:
            if record.kind != "WRITE":
                continue
            key = (record.qp, record.number)
            of_it = [
                each
                for each in sent[key]
                if each.time_us <= record.time_us and each.ev == record.ev
            ]
            there = arrived[key]
            losses.append(
                Loss(
                    sent_us=of_it[-1].time_us,
                    lost_us=record.time_us,
                    qp=record.qp,
                    psn=record.number,
                    ev=record.ev,
                    repaired_us=max(there[0], record.time_us) if there else None,
                )
            )
        return losses

    def first_losses(self, evs: Collection[int], *, since_us: float) -> dict[tuple[int, int], Loss]:
        """Return the first loss of each QP on each of ``evs``, from a time on."""
        found = {}
        for loss in self.losses:
            if loss.ev in evs and loss.lost_us >= since_us:
                found.setdefault((loss.qp, loss.ev), loss)
        return found

    def out_after(self, qp: int, ev: int, time_us: float) -> float | None:
        """Return when an EV had become ASSUMED_BAD, if it was not in use at a time or after it."""
        state, since = "GOOD", 0.0
        for change in self._changes_of[qp, ev]:
            if change.time_us > time_us and state == "ASSUMED_BAD":
                break
            state, since = change.new, change.time_us
            if state == "ASSUMED_BAD" and since >= time_us:
                return since
        return since if state == "ASSUMED_BAD" else None

    @cached_property
    def _changes_of(self) -> dict[tuple[int, int], list[EvChange]]:
        changes = defaultdict(list)
        for change in self.changes:
            changes[change.qp, change.ev].append(change)
        return changes

    def last_write(
        self, evs: Collection[int], *, before_us: float = float("inf"), qp: int | None = None
    ) -> PacketRecord | None:
        """Return the last write on one of ``evs`` that began before a time."""
        for record in reversed(self.writes):
            if record.ev in evs and record.began_us < before_us and qp in (None, record.qp):
                return record
        return None

    def first_write(self, evs: Collection[int], *, since_us: float) -> PacketRecord | None:
        """Return the first write on one of ``evs`` that began after a time."""
        for record in self.writes:
            if record.ev in evs and record.began_us >= since_us:
                return record
        return None

    def writes_of_qp_after(self, qp: int, time_us: float, *, within_us: float) -> int:
        """Return how many writes a QP sent after a time, in so much time."""
        times = self._times_of[qp]
        return bisect_right(times, time_us + within_us) - bisect_right(times, time_us)

    @cached_property
    def _times_of(self) -> dict[int, list[float]]:
        times = defaultdict(list)
        for record in self.writes:
            times[record.qp].append(record.time_us)
        return times

    def answers_before(self, qp: int, ev: int, time_us: float, *, since_us: float) -> int:
        """Return how many probes of an EV were sent and answered in a time."""
        sent = {
            (record.qp, record.number)
            for record in self.sent
            if record.kind == "PROBE" and since_us <= record.time_us <= time_us
        }
        return sum(
            record.kind == "ANSWER"
            and record.qp == qp
            and record.number >> 8 == ev
            and since_us <= record.time_us <= time_us
            and (qp, record.number) in sent
            for record in self.arrived
        )

    def share_error(self, planes: int, *, window: int, evs_per_plane: int) -> float:
        """Return the largest deviation of a plane's share from an equal one, over any window."""
        counts = [[0] for _ in range(planes)]
        for record in self.writes:
            for plane, sums in enumerate(counts):
                sums.append(sums[-1] + (record.ev // evs_per_plane == plane))
        total = len(self.writes)
        size = min(window, total)
        if not size:
            return 0.0
        return max(
            abs((sums[n + size] - sums[n]) / size * planes - 1)
            for sums in counts
            for n in range(total - size + 1)
        )

    def out_of_use(self, evs: Iterable[int], time_us: float) -> int:
        """Return how many of ``evs``, in all QPs together, are ASSUMED_BAD at a time."""
        wanted = set(evs)
        return sum(
            _state_at(changes, time_us) == "ASSUMED_BAD"
            for (_, ev), changes in self._changes_of.items()
            if ev in wanted
        )


def _state_at(changes: list[EvChange], time_us: float) -> str:
    n = bisect_left(changes, (time_us,))
    return changes[n - 1].new if n else "GOOD"

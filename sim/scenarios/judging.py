"""Questions that several scenarios ask."""

from collections.abc import Iterable

from mrcnic.hdl.config import TICK_NS

from .history import History, Loss
from .scenario import CONFIG, REGISTERS, Finding, Plan

__all__ = [
    "BASE_RTT_US",
    "FABRIC_REGISTERS",
    "HOLD_OFF_US",
    "LIMIT_LAST_US",
    "LIMIT_LOAD_US",
    "PROOFS",
    "evs_by",
    "judge_blame",
    "judge_repair",
    "judge_return",
    "judge_shares",
]

BASE_RTT_US = REGISTERS["base_rtt"] * TICK_NS / 1000
_TARGET_US = REGISTERS["target_delay"] * TICK_NS / 1000
HOLD_OFF_US = REGISTERS["hold_off"] * TICK_NS / 1000

#: From the first loss on an EV until it is out of use: while the QP sends, and when it was the
#: last packet.
LIMIT_LOAD_US = 1.25 * BASE_RTT_US + _TARGET_US + 4
LIMIT_LAST_US = 2.5 * BASE_RTT_US + 4

#: Probes that must be answered before a path, or a port, is used again.
PROOFS = 3

#: Later packets of the QP that a hole needs to count as a loss: one more than are reordering.
_LATER = 4

#: Packets over which planes have equal shares.
_WINDOW = 1024

#: Registers as the fabric wants them, in the form of a :class:`~.transfer.TransferSpec`.
FABRIC_REGISTERS = tuple(REGISTERS.items())


def evs_by(plane: int, spine: int | None = None) -> frozenset[int]:
    """Return A's EVs of a plane, or only those by one of its T1 switches."""
    return frozenset(
        plane * CONFIG.evs_per_plane + n
        for n in range(CONFIG.evs_per_plane)
        if spine is None or n % 4 == spine
    )


def _worst(values: Iterable[float | None]) -> float | None:
    """Return the largest, or ``None`` if one never came or there are none."""
    values = list(values)
    return None if not values or None in values else max(values)


def _under_load(history: History, loss: Loss) -> bool:
    within_us = 1.25 * BASE_RTT_US
    return history.writes_of_qp_after(loss.qp, loss.sent_us, within_us=within_us) >= _LATER


def judge_blame(plan: Plan, history: History, *, stays: bool = True) -> list[Finding]:
    """Judge how soon dead EVs go out of use.

    Parameters
    ----------
    stays : :class:`bool`
        What is out of use stays so while the path is dead.
    """
    losses = history.first_losses(plan.evs, since_us=plan.down_us)
    loaded, last = {}, {}
    for key, loss in losses.items():
        out_us = history.out_after(*key, loss.sent_us)
        delay = None if out_us is None else max(0.0, out_us - loss.sent_us)
        (loaded if _under_load(history, loss) else last)[key] = delay
    first = min((loss.lost_us for loss in losses.values()), default=None)
    findings = [
        Finding(
            what="dead EVs that were met, in all QPs", value=len(losses), least=1,
        ),
        Finding(
            what="first loss after the failure",
            value=None if first is None else first - plan.down_us,
            unit="us",
        ),
    ]  # fmt: skip
    if loaded:
        findings.append(
            Finding(
                what="first loss to EV out of use, under load",
                value=_worst(loaded.values()),
                unit="us",
                most=LIMIT_LOAD_US,
            )
        )
    if last:
        findings.append(
            Finding(
                what="first loss to EV out of use, last packet",
                value=_worst(last.values()),
                unit="us",
                most=LIMIT_LAST_US,
            )
        )
    if stays:
        findings += _judge_last(plan, history, losses, slow=bool(last))
    return findings


def _judge_last(plan, history, losses, *, slow) -> list[Finding]:
    end_us = plan.up_us or float("inf")
    spans = []
    for (qp, ev), loss in losses.items():
        record = history.last_write({ev}, before_us=end_us, qp=qp)
        spans.append(max(0.0, record.began_us - loss.sent_us))
    last = history.last_write(plan.evs, before_us=end_us)
    return [
        Finding(
            what="last packet on an EV after its first loss",
            value=_worst(spans),
            unit="us",
            most=LIMIT_LAST_US if slow else LIMIT_LOAD_US,
        ),
        Finding(
            what="last packet on a dead EV after the failure",
            value=None if last is None else max(0.0, last.began_us - plan.down_us),
            unit="us",
        ),
    ]


def judge_repair(history: History) -> list[Finding]:
    """Judge whether what was lost has arrived later."""
    losses = history.losses
    times = [loss.repaired_us for loss in losses]
    return [
        Finding(what="packets lost", value=len(losses)),
        Finding(what="of these never repaired", value=times.count(None), most=0),
        Finding(
            what="loss to repair, at most",
            value=_worst(
                None if loss.repaired_us is None else loss.repaired_us - loss.lost_us
                for loss in losses
            ),
            unit="us",
        ),
        Finding(
            what="every loss repaired at",
            value=_worst(times),
            unit="us",
        ),
    ]


def judge_shares(history: History) -> list[Finding]:
    """Judge whether planes get equal shares."""
    error = history.share_error(CONFIG.lanes, window=_WINDOW, evs_per_plane=CONFIG.evs_per_plane)
    return [
        Finding(
            what=f"plane shares, off in any {_WINDOW:,} packets",
            value=100 * error,
            unit="%",
            most=1.0,
        )
    ]


def judge_return(plan: Plan, history: History) -> list[Finding]:
    """Judge whether EVs come back once the path is well, and not before probes say so."""
    back = [
        change
        for change in history.changes
        if change.ev in plan.evs and change.old == "ASSUMED_BAD" and change.new != "DENIED"
    ]
    answers = []
    for change in back:
        out_us = max(
            earlier.time_us
            for earlier in history.changes
            if (earlier.qp, earlier.ev, earlier.new) == (change.qp, change.ev, "ASSUMED_BAD")
            and earlier.time_us < change.time_us
        )
        answers.append(
            history.answers_before(change.qp, change.ev, change.time_us, since_us=out_us)
        )
    lost_again = sum(loss.sent_us > plan.up_us for loss in history.losses)
    again = history.first_write(plan.evs, since_us=plan.up_us)
    return [
        Finding(
            what="EVs out of use at the end",
            value=history.out_of_use(plan.evs, float("inf")),
            most=0,
        ),
        Finding(
            what="good probes before an EV came back, at least",
            value=min(answers, default=None),
            least=PROOFS,
        ),
        Finding(
            what="first packet on one after the repair",
            value=None if again is None else again.began_us - plan.up_us,
            unit="us",
        ),
        Finding(what="packets lost after the repair", value=lost_again, most=0),
    ]

"""What must hold in a run of a campaign, and what a campaign found."""

from rich import box
from rich.table import Table

from .transfer import violations

__all__ = ["campaign_table", "run_problems"]

#: Counters that no misfortune on the way may move: packets are checked before they are believed.
_FORBIDDEN = (
    "requester_sack_never_sent",
    "requester_ack_never_sent",
    "requester_ack_unknown_syndrome",
    "responder_rx_message_lost",
    "responder_rx_immediate_overflow",
    "retransmit_fetch_error",
    "payload_read_error",
    "payload_write_error",
    "rx_write_error",
)


def run_problems(
    result: dict, *, spoiled: dict[int, str], is_cut_off: bool, renewed: set[int]
) -> list[str]:
    """Return what went wrong in a run, a sentence each.

    Parameters
    ----------
    result : :class:`dict`
        What the bench found.
    spoiled : dict of :class:`int` to :class:`str`
        Messages with something wrong, and what.
    is_cut_off : :class:`bool`
        No path was left, so that QPs may fail.
    renewed : set of :class:`int`
        QPs that were destroyed in between, with what was under way.
    """
    found = violations(result)
    if result["wrong_messages"]:
        found.append(f"messages {result['wrong_messages']} are complete and differ")
    for qp in range(result["qps"]):
        numbers = range(qp, result["messages"], result["qps"])
        statuses = [result["statuses"][n] for n in numbers]
        wrong = {n: spoiled[n] for n in numbers if n in spoiled}
        if qp in renewed:
            is_explained = set(statuses) <= {"OK", "FLUSHED", "REFUSED"}
        else:
            is_explained = _is_explained(statuses, list(numbers), wrong, is_cut_off)
        if result["finished"] and not is_explained:
            found.append(f"QP {qp} ends its messages with {', '.join(map(str, statuses))}")
    written = sum(
        count
        for name, count in result["counters"]["b"].items()
        if name.endswith("rx_payload_written")
    )
    new = result["verdicts"].get("NEW", 0)
    if written > new or (written < new and not result["failed"]):
        found.append(f"{written} payloads are written where {new} packets are new")
    for side, counters in result["counters"].items():
        found += [
            f"{side} counts {count} {name}"
            for name, count in counters.items()
            if count and any(part in name for part in _FORBIDDEN)
        ]
    return found


def _is_explained(statuses, numbers, wrong: dict[int, str], is_cut_off: bool) -> bool:
    """Return whether the messages of a QP ended as they should, in the order of posting."""
    rest = [s for s, n in zip(statuses, numbers, strict=True) if wrong.get(n) != "qp"]
    if any(s != "REFUSED" for s, n in zip(statuses, numbers, strict=True) if wrong.get(n) == "qp"):
        return False
    good = next((k for k, status in enumerate(rest) if status != "OK"), len(rest))
    if good == len(rest):
        return not any(what != "qp" for what in wrong.values())
    reasons = {"RETRY_EXCEEDED"} if is_cut_off else set()
    if any(what != "qp" for what in wrong.values()):
        reasons.add("REMOTE_ACCESS")
    return rest[good] in reasons and set(rest[good + 1 :]) <= {"FLUSHED"}


def campaign_table(reports: list, *, title: str) -> Table:
    """Return the sums of a campaign."""
    table = Table(title=title, show_header=False, box=box.SIMPLE, title_justify="left")
    table.add_column("what")
    table.add_column("value")
    failed = sum(bool(report.problems) for report in reports)
    table.add_row("runs", f"{len(reports):,}, of which {failed:,} failed")
    names = dict.fromkeys(name for report in reports for name in report.figures)
    for name in names:
        total = sum(report.figures.get(name, 0) for report in reports)
        table.add_row(name, f"{total:,}")
    return table

"""What is asked of a port that goes down, at A and at B."""

from .history import History
from .judging import BASE_RTT_US, HOLD_OFF_US, PROOFS, evs_by
from .scenario import CONFIG, Finding

__all__ = ["Outage", "judge_local_port", "judge_remote_port"]

#: Cycles from a status pin to the last frame that begins to leave by the port.
_LAST_FRAME_CYCLES = 16

#: Kind of the probes by which a port proves that it works.
_TO_ITSELF = "ENDPOINT_REQUEST"

#: From the notice to the peer's last packet, and from the failure.
_NOTICE_US = BASE_RTT_US + 2
_IN_ALL_US = 100


class Outage:
    """When a port was down, as its pins said. Times are in microseconds.

    Parameters
    ----------
    history : :class:`~.history.History`
    port : :class:`str`
        Such as ``"a0"``.
    since_us, until_us : :class:`float`
        When it fails for the first time, and when it will surely have been well again.

    Attributes
    ----------
    down_us, mended_us, up_us : :class:`float` or None
        First bad sign; good signs after it, for the first and for the last time.
    """

    def __init__(self, history: History, port: str, *, since_us: float, until_us: float):
        signs = [
            (time_us, good)
            for time_us, of, good in history.signs
            if of == port and since_us <= time_us <= until_us
        ]
        self.port = port
        self.plane = int(port[1:])
        self.failed_us = since_us
        self.down_us = next((time_us for time_us, good in signs if not good), None)
        mended = [
            time_us
            for time_us, good in signs
            if good and self.down_us is not None and time_us > self.down_us
        ]
        self.mended_us = mended[0] if mended else None
        self.up_us = mended[-1] if mended else None

    @property
    def evs(self) -> frozenset[int]:
        """A's EVs in the port's plane."""
        return evs_by(self.plane)

    @property
    def seen(self) -> bool:
        """Whether the pins told of its beginning and its end."""
        return self.down_us is not None and self.up_us is not None


def judge_local_port(history: History, outage: Outage) -> list[Finding]:
    """Judge what A does when its own port fails and comes back."""
    port, cycle_us = outage.port, 1e6 / CONFIG.clk_hz
    if not outage.seen:
        return [Finding(what=f"{port}: status pins told", value=None, least=1)]
    begun = [
        record
        for record in history.sent
        if record.place == port and outage.down_us < record.began_us
    ]
    first = [record.began_us for record in begun if record.began_us < outage.mended_us]
    held_off = sum(
        record.kind != _TO_ITSELF
        and outage.mended_us < record.began_us < outage.up_us + HOLD_OFF_US
        for record in begun
    )
    waited_us = outage.up_us + HOLD_OFF_US
    proofs = [
        record.time_us
        for record in history.arrived
        if record.place == port and record.kind == _TO_ITSELF and record.time_us > outage.up_us
    ]
    again = history.first_write(outage.evs, since_us=outage.up_us)
    lost = sum(
        record.kind == "WRITE"
        and record.ev in outage.evs
        and outage.down_us + 1 < record.time_us < waited_us
        for record in history.lost
    )
    return [
        Finding(
            what=f"{port}: bad pin to the last frame that begins",
            value=round(max((began - outage.down_us) / cycle_us for began in first))
            if first
            else 0,
            unit="cycles",
            most=_LAST_FRAME_CYCLES,
        ),
        Finding(what=f"{port}: frames but probes to itself while held off", value=held_off, most=0),
        Finding(what=f"{port}: packets lost in its plane while held off", value=lost, most=0),
        Finding(
            what=f"{port}: good signs to the first packet",
            value=None if again is None else again.began_us - outage.up_us,
            unit="us",
            least=HOLD_OFF_US,
        ),
        Finding(
            what=f"{port}: probes to itself that came back before",
            value=None if again is None else sum(time_us < again.began_us for time_us in proofs),
            least=PROOFS,
        ),
    ]


def judge_remote_port(history: History, outage: Outage) -> list[Finding]:
    """Judge what A does when a port of B fails and comes back."""
    port = outage.port
    if not outage.seen:
        return [Finding(what=f"{port}: status pins told", value=None, least=1)]
    notice_us = next(
        (
            record.began_us
            for record in history.sent
            if record.kind == "STATUS"
            and record.place[0] == "b"
            and record.began_us >= outage.down_us
        ),
        None,
    )
    last = history.last_write(outage.evs, before_us=outage.up_us)
    again = history.first_write(outage.evs, since_us=outage.up_us)
    stopped_us = None if notice_us is None else notice_us + _NOTICE_US
    lost = sum(
        loss.ev in outage.evs and stopped_us is not None and loss.sent_us > stopped_us
        and loss.lost_us < outage.up_us + HOLD_OFF_US
        for loss in history.losses
    )  # fmt: skip
    return [
        Finding(
            what=f"{port}: bad pin to the notice",
            value=None if notice_us is None else notice_us - outage.down_us,
            unit="us",
        ),
        Finding(
            what=f"{port}: notice to the peer's last packet",
            value=None if notice_us is None else max(0.0, last.began_us - notice_us),
            unit="us",
            most=_NOTICE_US,
        ),
        Finding(
            what=f"{port}: failure to the peer's last packet",
            value=max(0.0, last.began_us - outage.failed_us),
            unit="us",
            most=_IN_ALL_US,
        ),
        Finding(what=f"{port}: packets lost to it while held off", value=lost, most=0),
        Finding(
            what=f"{port}: good signs to the first packet",
            value=None if again is None else again.began_us - outage.up_us,
            unit="us",
            least=HOLD_OFF_US,
        ),
    ]

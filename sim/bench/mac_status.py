"""Status pins of a hard MAC of 100 Gb/s, with the delays that they really have."""

from dataclasses import dataclass, replace

__all__ = ["DELAYS", "MacStatusModel", "StatusDelays", "StatusPins"]


@dataclass(frozen=True, kw_only=True)
class StatusDelays:
    """How long a MAC takes to see what is wrong, and to lock again. In picoseconds.

    Attributes
    ----------
    first_lane, last_lane : :class:`int`
        Until the first and the last PCS lane without signal lose block lock, by 65 bad sync headers
        of 1024. A lane has a block each 12.8 ns (20 lanes, 66 bits, 103.125 Gb/s): of random
        headers half are bad, which makes 130 blocks, and the window is over after 1024.
    good_headers : :class:`int`
        Until it has block lock: 64 good headers in a row.
    code_words : :class:`int`
        Until RS-FEC loses its lock: 3 bad code words of 51.2 ns each, in a row.
    markers : :class:`int`
        Distance of alignment markers: alignment takes two of them, and is lost with the lock.
    local_fault : :class:`int`
        Until the reconciliation layer tells, after alignment is lost or found.
    remote_fault : :class:`int`
        Until the other end, which sees the same, has told.
    """

    first_lane: int = 1_664_000
    last_lane: int = 13_107_000
    good_headers: int = 820_000
    code_words: int = 154_000
    markers: int = 209_715_000
    local_fault: int = 50_000
    remote_fault: int = 600_000


#: What IEEE 802.3 makes of them (clauses 81, 82 and 91).
DELAYS = StatusDelays()

_LANES = 20


@dataclass(frozen=True)
class StatusPins:
    """Pins, as :class:`~mrcnic.hdl.descriptor.settings.MacStatus` names them."""

    aligned: int = 1
    local_fault: int = 0
    remote_fault: int = 0
    hi_ber: int = 0
    heartbeat: int = 0
    block_lock: int = (1 << _LANES) - 1
    fec_lock: int = 1
    uncorrected: int = 0
    symbol_errors: int = 0


class MacStatusModel:
    """What the pins of one port show, given what happens to its cable.

    Call what happens with its time, then :meth:`at` with times that never go back.

    Parameters
    ----------
    delays : :class:`StatusDelays`
    rs_fec : :class:`bool`
        RS-FEC is on: block lock is not seen then, and locks of the FEC are.
    heartbeat_ps : :class:`int`
        Time between changes of the heartbeat.
    """

    def __init__(
        self,
        delays: StatusDelays = DELAYS,
        *,
        rs_fec: bool = True,
        heartbeat_ps: int = 50_000,
    ):
        self.delays = delays
        self.rs_fec = rs_fec
        self.heartbeat_ps = heartbeat_ps
        self._pins = StatusPins()
        self._changes: list[tuple[int, dict[str, int]]] = []
        self._clock_runs = True
        self._next_beat_ps = 0
        self._errors = 0  # symbols still to be counted
        self._count = 0

    def cut(self, time_ps: int):
        """Let the fibre towards this end die. What waits to get better does so no more."""
        self._changes.clear()
        if self.rs_fec:
            lost = time_ps + self.delays.code_words
            self._plan(lost, fec_lock=0, aligned=0)
        else:
            lost = time_ps + self.delays.first_lane
            spread = self.delays.last_lane - self.delays.first_lane
            for lane in range(_LANES):
                when = lost + lane * spread // (_LANES - 1)
                self._plan(when, block_lock=(1 << _LANES) - (2 << lane))
            self._plan(lost, aligned=0)
        self._plan(lost + self.delays.local_fault, local_fault=1)

    def cut_lanes(self, time_ps: int, lanes: int):
        """Let some PCS lanes die, given as a mask: they alone lose their lock."""
        lost = time_ps + self.delays.first_lane
        self._plan(lost, block_lock=self._pins.block_lock & ~lanes, aligned=0)
        self._plan(lost + self.delays.local_fault, local_fault=1)

    def cut_other_direction(self, time_ps: int):
        """Let the fibre towards the other end die: this end is told, and sees nothing else."""
        seen = self.delays.code_words if self.rs_fec else self.delays.first_lane
        told = time_ps + seen + self.delays.local_fault + self.delays.remote_fault
        self._plan(told, remote_fault=1)

    def mend(self, time_ps: int):
        """Make both fibres whole again."""
        self._changes.clear()
        locked = time_ps + self.delays.good_headers
        self._plan(locked, block_lock=(1 << _LANES) - 1)
        aligned = locked + 2 * self.delays.markers
        self._plan(aligned, fec_lock=1, aligned=1)
        self._plan(aligned + self.delays.local_fault, local_fault=0)
        self._plan(aligned + self.delays.remote_fault, remote_fault=0)

    def stop_clock(self, time_ps: int):
        """Stop the receive clock: the pins stay as they are."""
        self._changes.clear()
        self._clock_runs = False
        self._next_beat_ps = time_ps

    def start_clock(self, time_ps: int):
        """Let it run again."""
        self._clock_runs = True
        self._next_beat_ps = time_ps

    def corrupt(self, symbols: int, *, uncorrected: bool = False):
        """Let a code word with so many symbols in error arrive; the FEC corrects it or not."""
        self._errors += symbols
        if uncorrected:
            self._pins = replace(self._pins, uncorrected=1 - self._pins.uncorrected)

    def show(self, **pins: int):
        """Set pins at once, whatever the cable does."""
        self._pins = replace(self._pins, **pins)

    @property
    def settled(self) -> bool:
        """Whether no change is under way; the heartbeat does not count."""
        return not (self._changes or self._errors)

    def at(self, time_ps: int) -> StatusPins:
        """Return the pins at a time."""
        while self._clock_runs and self._changes and self._changes[0][0] <= time_ps:
            self._pins = replace(self._pins, **self._changes.pop(0)[1])
        if self._clock_runs:
            if time_ps >= self._next_beat_ps:
                self._next_beat_ps = time_ps + self.heartbeat_ps
                self._pins = replace(self._pins, heartbeat=1 - self._pins.heartbeat)
            if self._errors:
                self._errors -= 1
                self._count = (self._count + 1) % 16
                self._pins = replace(self._pins, symbol_errors=self._count ^ self._count >> 1)
        return self._pins

    def _plan(self, time_ps, **changes):
        self._changes.append((time_ps, changes))
        self._changes.sort(key=lambda change: change[0])

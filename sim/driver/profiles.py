"""EV profiles: the paths that queue pairs spray over."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.srv6 import ENTROPY

from .nic import Nic

__all__ = ["ENTROPY_PREFIX", "Ev", "ProfileState", "Profiles", "spread_evs"]

#: Upper octet of an EV: with it, source ports are in RoCE's range.
ENTROPY_PREFIX = 0xC0


class ProfileState(Enum):
    """Life of a profile."""

    #: It is empty, or being filled.
    INIT = 0
    #: It is full, and no queue pair may use it.
    OFFLINE = 1
    #: Queue pairs may use it.
    ONLINE = 2


@dataclass(frozen=True, kw_only=True)
class Ev:
    """An entropy value, and whether it is used from the start or kept as a backup."""

    ev: int
    active: bool = True


def spread_evs(config: NicConfig, *, uplinks: Sequence[int], backups: int = 0) -> list[list[Ev]]:
    """Return EVs for all places of a profile, spread over uplinks.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    uplinks : sequence of :class:`int`
        Uplinks of the first switch, the same in each plane, taken in turn.
    backups : :class:`int`
        How many EVs of each plane, the last ones, are backups.

    Returns
    -------
    :class:`list`
        Per plane its EVs.

    Raises
    ------
    ValueError
        If there is no uplink, or no EV is left to be used.

    Examples
    --------
    >>> planes = spread_evs(NicConfig(lanes=2, evs=4), uplinks=[1])
    >>> [hex(ev.ev) for ev in planes[1]]
    ['0xc0021010', '0xc0031010']
    """
    if not uplinks:
        raise ValueError("uplinks must not be empty")
    if backups not in range(config.evs_per_plane):
        raise ValueError(f"backups must be from 0 to {config.evs_per_plane - 1}, not {backups}")
    planes = []
    for plane in range(config.lanes):
        evs = []
        for n in range(config.evs_per_plane):
            octets = ENTROPY.pack(
                prefix=ENTROPY_PREFIX,
                index=plane * config.evs_per_plane + n,
                plane=plane,
                uplink=uplinks[n % len(uplinks)],
            )
            active = n < config.evs_per_plane - backups
            evs.append(Ev(ev=int.from_bytes(octets), active=active))
        planes.append(evs)
    return planes


class Profiles:
    """All EV profiles of a NIC, and how many queue pairs use each."""

    def __init__(self, nic: Nic):
        self._nic = nic
        self._states = dict.fromkeys(range(nic.config.profiles), ProfileState.INIT)
        self._evs: dict[int, list[list[Ev]]] = {}
        self._users = [0] * nic.config.profiles

    def state(self, profile: int) -> ProfileState:
        """Return the state of a profile."""
        return self._states[profile]

    async def write(self, profile: int, planes: Sequence[Sequence[Ev]], *, min_active: int = 1):
        """Fill a profile, and put it online; places that are not filled stay empty.

        Parameters
        ----------
        profile : :class:`int`
            Number of the profile.
        planes : sequence of sequences of :class:`Ev`
            Per plane its EVs.
        min_active : :class:`int`
            While there are backups, so many EVs of each plane are active and GOOD.

        Raises
        ------
        ValueError
            If a queue pair uses the profile, or the EVs do not fit its places, or are too few.
        """
        self._check_free(profile)
        config = self._nic.config
        if len(planes) != config.lanes:
            raise ValueError(f"a profile must have {config.lanes} planes, not {len(planes)}")
        for plane, evs in enumerate(planes):
            if len(evs) > config.evs_per_plane:
                raise ValueError(
                    f"plane {plane} of a profile must have {config.evs_per_plane} EVs at most, "
                    f"not {len(evs)}"
                )
            for ev in evs:
                _check_value(ev)
        if not any(ev.active for evs in planes for ev in evs):
            raise ValueError("a profile must have an active EV")
        fewest = min(len(evs) for evs in planes if evs)
        if min_active not in range(fewest + 1):
            raise ValueError(
                f"min_active must be from 0 to {fewest}, the EVs of a plane, not {min_active}"
            )
        self._states[profile] = ProfileState.INIT
        await self._nic.write_row(Table.PROFILE, profile, min_active=min_active)
        for plane, evs in enumerate(planes):
            for n in range(config.evs_per_plane):
                fields = _fields(evs[n]) if n < len(evs) else {}
                await self._write_ev(profile, plane * config.evs_per_plane + n, fields)
        self._evs[profile] = [list(evs) for evs in planes]
        self._states[profile] = ProfileState.ONLINE

    async def replace(self, profile: int, ev_index: int, ev: Ev):
        """Put another EV in the place of one, also while queue pairs use the profile.

        Its state is GOOD then, in all of them; whatever comes back of the old one is ignored.

        Raises
        ------
        ValueError
            If there is no EV in that place, or no active one would be left.
        """
        plane, n = divmod(ev_index, self._nic.config.evs_per_plane)
        planes = self._evs.get(profile, [])
        if plane not in range(len(planes)) or n not in range(len(planes[plane])):
            raise ValueError(f"profile {profile} must have an EV {ev_index}, to be replaced")
        _check_value(ev)
        after = [list(evs) for evs in planes]
        after[plane][n] = ev
        if not any(other.active for evs in after for other in evs):
            raise ValueError("a profile must have an active EV")
        self._evs[profile] = after
        await self._write_ev(profile, ev_index, _fields(ev))

    def offline(self, profile: int):
        """Let no queue pair use a profile from now on.

        Raises
        ------
        ValueError
            If a queue pair uses the profile, or it is empty.
        """
        self._check_free(profile)
        self._check_filled(profile)
        self._states[profile] = ProfileState.OFFLINE

    def online(self, profile: int):
        """Let queue pairs use a profile again.

        Raises
        ------
        ValueError
            If the profile is empty.
        """
        self._check_filled(profile)
        self._states[profile] = ProfileState.ONLINE

    async def clear(self, profile: int):
        """Empty a profile.

        Raises
        ------
        ValueError
            If a queue pair uses the profile.
        """
        self._check_free(profile)
        self._states[profile] = ProfileState.INIT
        self._evs.pop(profile, None)
        for index in range(self._nic.config.evs):
            await self._write_ev(profile, index, {})

    def hold(self, profile: int):
        """Count one user more.

        Raises
        ------
        ValueError
            If the profile is empty or offline.
        """
        self._check_filled(profile)
        if self._states[profile] is not ProfileState.ONLINE:
            raise ValueError(f"profile {profile} must be online before a QP uses it")
        self._users[profile] += 1

    def release(self, profile: int):
        """Count one user less."""
        self._users[profile] -= 1

    async def _write_ev(self, profile, index, fields):
        row = profile * self._nic.config.evs + index
        await self._nic.write_row(Table.EV, row, **fields)

    def _check_filled(self, profile):
        if self._states.get(profile, ProfileState.INIT) is ProfileState.INIT:
            raise ValueError(f"profile {profile} must be written before a QP uses it")

    def _check_free(self, profile):
        if profile not in range(self._nic.config.profiles):
            raise ValueError(
                f"profile must be from 0 to {self._nic.config.profiles - 1}, not {profile}"
            )
        if self._users[profile]:
            raise ValueError(
                f"profile {profile} must not be changed while {self._users[profile]} QPs use it"
            )


def _check_value(ev):
    if ev.ev not in range(1 << 32):
        raise ValueError(f"an EV must be from 0 to 0xffffffff, not {ev.ev:#x}")


def _fields(ev):
    return {"valid": 1, "active": int(ev.active), "ev": ev.ev}

"""EV profiles: the paths that queue pairs spray over."""

from collections.abc import Sequence
from dataclasses import dataclass

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.srv6 import ENTROPY

from .nic import Nic

__all__ = ["Ev", "Profiles", "spread_evs"]

#: Upper octet of an EV: with it, source ports are in RoCE's range.
_PREFIX = 0xC0


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
                prefix=_PREFIX,
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
        self._written: set[int] = set()
        self._users = [0] * nic.config.profiles

    async def write(self, profile: int, planes: Sequence[Sequence[Ev]]):
        """Fill a profile; places that are not filled stay empty.

        Parameters
        ----------
        profile : :class:`int`
            Number of the profile.
        planes : sequence of sequences of :class:`Ev`
            Per plane its EVs.

        Raises
        ------
        ValueError
            If a queue pair uses the profile, or the EVs do not fit its places.
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
                if ev.ev not in range(1 << 32):
                    raise ValueError(f"an EV must be from 0 to 0xffffffff, not {ev.ev:#x}")
        if not any(ev.active for evs in planes for ev in evs):
            raise ValueError("a profile must have an active EV")
        for plane, evs in enumerate(planes):
            for n in range(config.evs_per_plane):
                fields = (
                    {"valid": 1, "active": int(evs[n].active), "ev": evs[n].ev}
                    if n < len(evs)
                    else {}
                )
                await self._write_ev(profile, plane * config.evs_per_plane + n, fields)
        self._written.add(profile)

    async def clear(self, profile: int):
        """Empty a profile.

        Raises
        ------
        ValueError
            If a queue pair uses the profile.
        """
        self._check_free(profile)
        self._written.discard(profile)
        for index in range(self._nic.config.evs):
            await self._write_ev(profile, index, {})

    def hold(self, profile: int):
        """Count one user more.

        Raises
        ------
        ValueError
            If the profile is empty.
        """
        if profile not in self._written:
            raise ValueError(f"profile {profile} must be written before a QP uses it")
        self._users[profile] += 1

    def release(self, profile: int):
        """Count one user less."""
        self._users[profile] -= 1

    async def _write_ev(self, profile, index, fields):
        row = profile * self._nic.config.evs + index
        await self._nic.write_row(Table.EV, row, **fields)

    def _check_free(self, profile):
        if profile not in range(self._nic.config.profiles):
            raise ValueError(
                f"profile must be from 0 to {self._nic.config.profiles - 1}, not {profile}"
            )
        if self._users[profile]:
            raise ValueError(
                f"profile {profile} must not be changed while {self._users[profile]} QPs use it"
            )

"""Generated EV profiles: paths from ranges of fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.srv6 import ENTROPY

from .profiles import ENTROPY_PREFIX, Ev

__all__ = ["EvField", "generate_evs"]

#: Bits of an EV that are generated; what is above tells the EV's place.
_BITS = 16


@dataclass(frozen=True, kw_only=True)
class EvField:
    """A field of generated EVs, and the values it takes.

    Parameters
    ----------
    bits : :class:`int`
        Width.
    initial : :class:`int`
        The value it takes first; from there on it counts up, and around.
    minimum, maximum : :class:`int`
        The least and the largest value; by default, whatever fits.
    mask : :class:`int`
        Bits that may change; the others stay as in ``initial``. By default, all.

    Raises
    ------
    ValueError
        If ``initial`` is not one of the values.

    Examples
    --------
    >>> EvField(bits=4, initial=2, maximum=3).values
    (2, 3, 0, 1)
    >>> EvField(bits=4, initial=1, mask=0b0110).values
    (1, 3, 5, 7)
    """

    bits: int
    initial: int = 0
    minimum: int = 0
    maximum: int | None = None
    mask: int | None = None

    def __post_init__(self):
        if self.bits not in range(1, _BITS + 1):
            raise ValueError(f"bits must be from 1 to {_BITS}, not {self.bits}")
        limit = (1 << self.bits) - 1
        if self.maximum is not None and self.maximum not in range(limit + 1):
            raise ValueError(f"maximum must be from 0 to {limit}, not {self.maximum}")
        top = limit if self.maximum is None else self.maximum
        if self.minimum not in range(top + 1):
            raise ValueError(f"minimum must be from 0 to {top}, not {self.minimum}")
        if self.initial not in range(self.minimum, top + 1):
            raise ValueError(f"initial must be from {self.minimum} to {top}, not {self.initial}")

    @property
    def values(self) -> tuple[int, ...]:
        """All values, in their order."""
        limit = (1 << self.bits) - 1
        top = limit if self.maximum is None else self.maximum
        mask = limit if self.mask is None else self.mask
        values = [
            value for value in range(self.minimum, top + 1) if value & ~mask == self.initial & ~mask
        ]
        first = values.index(self.initial)
        return tuple(values[first:] + values[:first])


def generate_evs(
    config: NicConfig, fields: Sequence[EvField], *, backups: int = 0
) -> list[list[Ev]]:
    """Return the EVs that ``fields`` make, per plane.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    fields : sequence of :class:`EvField`
        What the lower 16 bits of an EV are made of, the most significant field first: plane (4
        bits), uplink (8 bits), and what is left (4 bits), or any other cut. The most significant
        one is counted first, so planes get equally many.
    backups : :class:`int`
        How many EVs of each plane, the last ones, are backups.

    Raises
    ------
    ValueError
        If fields do not make 16 bits, a plane does not exist or has other EVs than fit it.

    Examples
    --------
    >>> plane = EvField(bits=4, maximum=1)
    >>> uplink = EvField(bits=8, initial=1, minimum=1, maximum=2)
    >>> rest = EvField(bits=4, maximum=0)
    >>> planes = generate_evs(NicConfig(lanes=2, evs=4), [plane, uplink, rest])
    >>> [[hex(ev.ev) for ev in evs] for evs in planes]
    [['0xc0000010', '0xc0010020'], ['0xc0021010', '0xc0031020']]
    """
    if (bits := sum(field.bits for field in fields)) != _BITS:
        raise ValueError(f"fields must have {_BITS} bits together, not {bits}")
    planes: list[list[int]] = [[] for _ in range(config.lanes)]
    for values in product(*(field.values for field in reversed(fields))):
        low = 0
        for field, value in zip(fields, reversed(values), strict=True):
            low = low << field.bits | value
        plane = ENTROPY.unpack(low.to_bytes(ENTROPY.octets))["plane"]
        if plane >= config.lanes:
            raise ValueError(f"planes must be from 0 to {config.lanes - 1}, not {plane}")
        planes[plane].append(low)
        if len(planes[plane]) > config.evs_per_plane:
            raise ValueError(
                f"plane {plane} of a profile must have {config.evs_per_plane} EVs at most"
            )
    if backups not in range(min(map(len, planes)) or 1):
        raise ValueError(
            f"backups must be from 0 to {max(0, min(map(len, planes)) - 1)}, not {backups}"
        )
    return [
        [
            Ev(
                ev=ENTROPY_PREFIX << 24 | (plane * config.evs_per_plane + n) << 16 | low,
                active=n < len(evs) - backups,
            )
            for n, low in enumerate(evs)
        ]
        for plane, evs in enumerate(planes)
    ]

"""Every size of a NIC, and the checks that keep sizes together."""

from dataclasses import dataclass, field, fields, replace

__all__ = ["PRESETS", "TICK_NS", "NicConfig", "ticks"]

#: Time in the gateware goes in ticks of this many nanoseconds.
TICK_NS = 128


def ticks(time_ns: int) -> int:
    """Return the least difference of two readings of ``now`` that proves ``time_ns`` have passed.

    A reading is up to a tick old, so this is one more than ``time_ns`` takes.

    Parameters
    ----------
    time_ns : :class:`int`
        Time, in nanoseconds.

    Examples
    --------
    >>> ticks(30_000)
    236
    """
    return -(-time_ns // TICK_NS) + 1


def _size(default, unit, allowed, meaning):
    return field(default=default, metadata={"unit": unit, "allowed": allowed, "meaning": meaning})


def _powers(low, high):
    return tuple(1 << n for n in range(low.bit_length() - 1, high.bit_length()))


@dataclass(frozen=True, kw_only=True)
class NicConfig:
    """Sizes of a NIC. Every field has its unit, its limits and its meaning in its metadata.

    Raises
    ------
    ValueError
        If a field is out of its limits, or fields do not go together.

    Examples
    --------
    >>> NicConfig(lanes=2, evs=64).evs_per_plane
    32
    """

    clk_hz: int = _size(250_000_000, "Hz", range(1_000_000, 1_000_000_001), "clock of the engine")
    lanes: int = _size(1, "lanes", range(1, 9), "ports, each a plane of its own")
    beat_octets: int = _size(64, "octets", _powers(8, 128), "octets a lane moves in a cycle")
    qps: int = _size(16, "QPs", _powers(2, 1024), "queue pairs")
    window: int = _size(512, "PSNs", _powers(128, 32768), "PSNs under way per QP, each direction")
    evs: int = _size(64, "EVs", range(1, 257), "entropy values per profile, in all planes together")
    profiles: int = _size(16, "profiles", _powers(1, 256), "EV profiles")
    slots: int = _size(256, "slots", _powers(16, 4096), "packets under way in all QPs together")
    mtu: int = _size(4096, "octets", _powers(256, 4096), "largest path MTU, and size of a slot")
    regions: int = _size(64, "regions", _powers(2, 4096), "memory regions that peers may write to")
    send_queue: int = _size(16, "requests", _powers(2, 256), "work requests waiting per QP")
    routes: int = _size(4, "routes", range(65), "lists of further segments per port, for SRHs")
    peers: int = _size(16, "peers", _powers(2, 4096), "remote NICs")
    immediates: int = _size(32, "immediates", _powers(32, 128), "writes with immediate under way")
    crossing: int = _size(0, "flag", range(2), "1 if MACs have clocks of their own")
    uplinks: int = _size(16, "uplinks", _powers(2, 256), "uplinks per plane that are told apart")

    def __post_init__(self):
        for item in fields(self):
            self._check(item.name, item.metadata["allowed"])
        if self.evs % self.lanes:
            raise ValueError(
                f"evs must be a multiple of lanes, which are {self.lanes}, not {self.evs}"
            )
        if self.slots > self.window * self.qps:
            raise ValueError(
                f"slots must not exceed window * qps, which is {self.window * self.qps}, "
                f"not {self.slots}"
            )

    def _check(self, name, allowed):
        value = getattr(self, name)
        if value not in allowed:
            kind = "an integer" if isinstance(allowed, range) else "a power of two"
            raise ValueError(
                f"{name} must be {kind} from {allowed[0]} to {allowed[-1]}, not {value}"
            )

    @property
    def evs_per_plane(self) -> int:
        """EVs of a profile in each plane: plane ``p`` has those from ``p * evs_per_plane`` on."""
        return self.evs // self.lanes

    def override(self, **values: int) -> "NicConfig":
        """Return a copy with some fields changed.

        Raises
        ------
        ValueError
            If there is no such field, or a value is out of its limits.
        """
        names = [item.name for item in fields(self)]
        for name in values:
            if name not in names:
                raise ValueError(f"there is no field {name}; the fields are {', '.join(names)}")
        return replace(self, **values)


#: Configurations by name.
PRESETS = {
    "tiny": NicConfig(
        lanes=1, beat_octets=8, qps=4, window=128, evs=16, profiles=4, slots=16, mtu=1024,
        regions=4, send_queue=4,
        routes=0, peers=4, uplinks=4,
    ),
    "sim": NicConfig(lanes=2),
    "100g": NicConfig(
        qps=256, window=1024, evs=256, slots=256, regions=256, peers=256, crossing=1,
        uplinks=256,
    ),
    "2x100g": NicConfig(
        lanes=2, qps=256, window=1024, evs=256, slots=512, regions=256, peers=256, crossing=1,
        uplinks=256,
    ),
    "8x100g": NicConfig(
        lanes=8, qps=1024, window=1024, evs=256, slots=2048, regions=1024, peers=1024,
        crossing=1, uplinks=256,
    ),
}  # fmt: skip

"""Runs of a campaign, drawn by lot: what is sent, over what, with which misfortunes."""

import random
from dataclasses import dataclass

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.fabric.topology import Topology, default_topology

from .transfer import TransferSpec

__all__ = ["Run", "draw_run"]

#: Most octets and packets of a run: a simulator carries about a packet in a hundredth of a second.
_OCTETS, _PACKETS = 128 << 10, 160

#: Kinds of misfortune, with the highest chance of each and how often a run has it.
_CHANCES = {
    "drop": (0.06, 0.5),
    "duplicate": (0.1, 0.4),
    "reorder": (0.25, 0.4),
    "corrupt": (0.04, 0.3),
    "trim": (0.08, 0.3),
    "mark": (0.3, 0.3),
    "drop_sacks": (0.5, 0.3),
}

#: Retries that end within 40 us, for runs in which no path is left.
_FEW_RETRIES = {"timeout": 3, "linear_count": 1, "exponential_count": 2}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run.

    Attributes
    ----------
    number : :class:`int`
        Which of the campaign.
    spec : :class:`~mrcnic.sim.scenarios.transfer.TransferSpec`
        The transfer.
    is_cut_off : :class:`bool`
        No path is left from some time on: QPs may fail.
    reset_cycles : :class:`int`
        The NICs are reset so many cycles after the transfer has begun, and begin again; 0: they
        are not.
    """

    number: int
    spec: TransferSpec
    is_cut_off: bool
    reset_cycles: int


def draw_run(preset: str, *, seed: int, number: int) -> Run:
    """Return run ``number`` of the campaign that ``seed`` names.

    It depends on nothing but the arguments. One run in sixteen has no path left from some time on;
    in another one, a message is refused.
    """
    config = PRESETS[preset]
    rng = random.Random(f"campaign {preset} {seed} {number}")
    qps = rng.randint(1, config.qps)
    mtu = rng.choice([size for size in (256, 512, 1024, 2048, 4096) if size <= config.mtu])
    lengths = _lengths(rng, mtu)
    leaves, spines = rng.choice([1, 2, 2, 2]), rng.randint(1, 6)
    topology = default_topology(planes=config.lanes, leaves=leaves, spines=spines)
    fate = rng.randrange(16)
    failures = _failures(rng, topology) if fate else _end_of_all(rng, topology)
    spoiled = ()
    if fate == 1:
        spoiled = ((rng.randrange(len(lengths)), rng.choice(["rkey", "address", "qp"])),)
        qps = min(qps, config.qps - 1)  # for the QP that is not there
    spec = TransferSpec(
        config=config,
        qps=qps,
        seed=rng.getrandbits(32),
        srv6=rng.random() < 0.85,
        psn=rng.choice([None, None, 0, 0xFFFFFF - rng.randrange(40)]),
        mtu=mtu,
        cwnd=rng.choice([None, mtu * rng.randint(2, 40)]),
        mpr=rng.choice([None, 1]),
        lengths=lengths,
        leaves=leaves,
        spines=spines,
        backups=rng.choice([0, rng.randrange(config.evs_per_plane)]),
        immediates=tuple(n for n in range(len(lengths)) if rng.random() < 0.3),
        gap=rng.randrange(200),
        skew=rng.randrange(64),
        failures=failures,
        stalls=_stalls(rng),
        register_writes=rng.choice([0, 30]),
        first_flight=fate > 1,
        spoiled=spoiled,
        renewals=_renewals(rng, qps) if fate > 1 else (),
        **{
            name: rng.uniform(0, most) if rng.random() < often else 0.0
            for name, (most, often) in _CHANCES.items()
        },
        **({"timeout": rng.choice([4, 5, 6])} if fate else _FEW_RETRIES),
    )
    spec.check()
    reset_cycles = rng.choice([0, 0, rng.randrange(200, 5000)])
    return Run(number=number, spec=spec, is_cut_off=not fate, reset_cycles=reset_cycles)


def _lengths(rng: random.Random, mtu: int) -> tuple[int, ...]:
    """Draw messages: one octet, about a packet, about two, or many packets."""
    octets = rng.randint(1, min(_OCTETS, _PACKETS * mtu))
    lengths = []
    while octets > 0 and len(lengths) < 60:
        length = rng.choice([
            rng.randint(1, 64),
            rng.randint(mtu - 2, mtu + 2),
            rng.randint(1, 2 * mtu),
            rng.randint(1, 16 * mtu),
        ])
        lengths.append(length)
        octets -= length
    return tuple(lengths)


def _failures(rng: random.Random, topology: Topology) -> tuple[str, ...]:
    """Draw what fails; what does not come back leaves another path."""
    failures = []
    things = [*topology.switches, *topology.ports, *map("-".join, topology.links)]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        start = rng.randint(1, 30)
        end = start + rng.choice([rng.randint(1, 8), rng.randint(10, 60)])
        failures.append(f"{rng.choice(things)}@{start}us-{end}us")
    if rng.random() < 0.2:
        # Room for few packets, a tenth of the rate: marks and cuts, if the fabric cuts.
        start = rng.randint(1, 30)
        settings = f"rate_bps=10000000000,queue_octets={rng.randint(10, 60)}000,ecn_octets=5000"
        trim = rng.randrange(2)
        when = f"{start}us-{start + rng.randint(10, 60)}us"
        failures.append(f"{rng.choice(topology.switches)}@{when}:{settings},trim={trim}")
    if rng.random() < 0.2:
        lasting = []
        if topology.planes > 1:
            lasting += topology.ports
        if topology.leaves > 1 and topology.spines > 1:
            planes, spines = range(topology.planes), range(topology.spines)
            lasting += [topology.switch(plane, 1, spine) for plane in planes for spine in spines]
        if lasting:
            failures.append(f"{rng.choice(lasting)}@{rng.randint(1, 30)}us")
    return tuple(failures)


def _end_of_all(rng: random.Random, topology: Topology) -> tuple[str, ...]:
    """Draw when and where the last path dies."""
    host = rng.choice(["a", "b"])
    return tuple(f"{host}{plane}@{rng.randint(1, 12)}us" for plane in range(topology.planes))


def _renewals(rng: random.Random, qps: int) -> tuple[tuple[int, float], ...]:
    """Draw QPs that are destroyed and made anew, each once."""
    if rng.random() < 0.75:
        return ()
    return tuple((qp, rng.uniform(0.5, 20)) for qp in rng.sample(range(qps), rng.randint(1, qps)))


def _stalls(rng: random.Random) -> tuple[tuple[str, float, float], ...]:
    if rng.random() < 0.75:
        return ()
    start = rng.uniform(0, 15)
    return ((rng.choice(["a", "b"]), start, start + rng.uniform(0.1, 12)),)

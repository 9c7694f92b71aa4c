"""A host that is busy with registers while packets are under way."""

import contextlib
import random

from cocotb.triggers import Lock, Timer

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.rows import Table
from mrcnic.sim.driver.nic import Nic, NicError

__all__ = ["RegisterWriter"]

#: Settings that may change at any time, with what they are changed within.
_TUNABLE = {
    "sack_threshold": (4096, 65536),
    "flush_delay": (4, 40),
    "reorder_packets": (1, 8),
    "host_turns": (0, 16),
    "hop_limit": (16, 255),
    "retire_delay": (80, 800),
    "probe_interval": (40, 200),
    "error_leak": (1, 100),
}

#: Settings that hosts write once: to write them again as they are must change nothing.
_SETTLED = ("loopback", "block", "udp_port", "base_rtt", "target_delay", "port0_own_mac")

#: Between two actions, in nanoseconds.
_PAUSE_NS = 400


class RegisterWriter:
    """Read and write what has nothing to do with the traffic, or must not disturb it.

    Parameters
    ----------
    nic : :class:`~mrcnic.sim.driver.nic.Nic`
        The NIC, set up.
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Its sizes.
    seed : :class:`str`
        Of what is done.
    qps : :class:`int`
        QPs in use: those from this index on are free, as are all profiles but the first.
    tables : :class:`cocotb.triggers.Lock`
        Held while tables are in use.
    """

    def __init__(self, nic: Nic, config: NicConfig, *, seed: str, qps: int, tables: Lock):
        self._nic = nic
        self._config = config
        self._qps = qps
        self._rng = random.Random(f"registers {seed}")
        self._tables = tables
        self._stopped = False

    def stop(self):
        """Do nothing more after the present action."""
        self._stopped = True

    async def write(self, count: int):
        """Do so many things, or fewer if stopped."""
        actions = (self._tune, self._repeat, self._look, self._fill, self._overreach)
        for _ in range(count):
            if self._stopped:
                return
            async with self._tables:
                await self._rng.choice(actions)()
            await Timer(self._rng.randrange(1, 2 * _PAUSE_NS), "ns")

    async def _tune(self):
        name = self._rng.choice(list(_TUNABLE))
        await self._nic.write(name, self._rng.randint(*_TUNABLE[name]))

    async def _repeat(self):
        name = self._rng.choice(_SETTLED)
        await self._nic.write(name, await self._nic.read(name))

    async def _look(self):
        await self._nic.counter(self._rng.choice(self._nic.event_names))
        await self._nic.port_status(self._rng.randrange(self._config.lanes))
        await self._nic.read_row(Table.QP, self._rng.randrange(self._config.qps))

    async def _fill(self):
        """Write a row that no QP of the traffic uses."""
        rng, config = self._rng, self._config
        choice = rng.randrange(3)
        if choice == 0:
            row = rng.randrange(config.evs, config.profiles * config.evs)
            fields = {"valid": 1, "active": rng.randrange(2), "ev": rng.getrandbits(32)}
            await self._nic.write_row(Table.EV, row, **fields)
        elif choice == 1:
            row = rng.randrange(1, config.regions)
            region = {"base": 0, "octets": 1 << 20, "rkey": rng.getrandbits(32) | 1}
            await self._nic.write_row(Table.REGION, row, valid=1, domain=7, **region)
        elif self._qps < config.qps:
            await self._nic.write_row(Table.QP, rng.randrange(self._qps, config.qps))

    async def _overreach(self):
        with contextlib.suppress(NicError):
            await self._nic.write_row(Table.PEER, self._config.peers + self._rng.randrange(9))
            raise RuntimeError("the NIC took a row of a table beyond its end")

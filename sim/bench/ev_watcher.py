"""What a host learns of its NIC's EVs."""

from collections.abc import Callable, Iterable

from cocotb.triggers import ClockCycles, RisingEdge, ValueChange

from .host import Host

__all__ = ["EvWatcher"]


class EvWatcher:
    """Read the news of EVs as they come, and ask for their states.

    Parameters
    ----------
    host : :class:`~mrcnic.sim.bench.host.Host`
    evs : :class:`int`
        EVs of a profile.
    clock : callable
        Returns the time in picoseconds.

    Attributes
    ----------
    news : list of (:class:`int`, :class:`int`, :class:`int`, :class:`str`, :class:`str`)
        Time, QP, EV, state before and after of each change that the NIC has told.
    samples : list of (:class:`int`, :class:`list`)
        Time, and per QP the states of its EVs.
    """

    def __init__(self, host: Host, *, evs: int, clock: Callable[[], int]):
        self.host = host
        self.evs = evs
        self.clock = clock
        self.news: list[tuple[int, int, int, str, str]] = []
        self.samples: list[tuple[int, list[list[str]]]] = []

    async def follow(self):
        """Read news for ever; the stream stays ready, so that none is lost."""
        stream = self.host.ev_news
        while True:
            await ValueChange(stream.valid)
            while True:
                await RisingEdge(stream.clk)
                if not stream.valid.value:
                    break
                told = stream.layout.from_bits(int(stream.data.value))
                self.news.append((
                    self.clock(),
                    told.qp,
                    told.ev_index,
                    told.old.name,
                    told.new.name,
                ))

    async def sample(self, qps: Iterable[int]):
        """Ask for every state once."""
        states = [[await self._state(qp, ev_index) for ev_index in range(self.evs)] for qp in qps]
        self.samples.append((self.clock(), states))

    async def keep_sampling(self, qps: Iterable[int], *, pause_cycles: int):
        """Ask again and again, for ever."""
        qps = list(qps)
        while True:
            await self.sample(qps)
            await ClockCycles(self.host.clk, pause_cycles)

    async def _state(self, qp: int, ev_index: int) -> str:
        await self.host.ev_queries.send(qp=qp, ev_index=ev_index)
        return (await self.host.ev_answers.receive()).state.name

"""Everything that happened in a transfer: to each packet, each EV and each port."""

from collections.abc import Sequence

import cocotb

from .ev_watcher import EvWatcher
from .host import Host
from .mac import Macs
from .observer import Observer

__all__ = ["Recorder"]


class Recorder:
    """Gather what the observer, the hosts and the MACs have seen.

    Parameters
    ----------
    hosts : dict of :class:`str` to :class:`~mrcnic.sim.bench.host.Host`
        By name.
    macs : :class:`~mrcnic.sim.bench.mac.Macs`
    observer : :class:`~mrcnic.sim.bench.observer.Observer`
        One that keeps a log.
    """

    def __init__(self, hosts: dict[str, Host], macs: Macs, observer: Observer):
        self._macs = macs
        self._observer = observer
        self._watchers = {
            side: EvWatcher(host, evs=observer.network.config.evs, clock=lambda: macs.now_ps)
            for side, host in hosts.items()
        }

    def begin(self, qps: Sequence[int], *, sample_us: float | None):
        """Listen to news of EVs, and ask A for their states again and again if that is wanted."""
        for watcher in self._watchers.values():
            cocotb.start_soon(watcher.follow())
        if sample_us:
            pause_cycles = max(1, round(sample_us * self._observer.network.config.clk_hz / 1e6))
            cocotb.start_soon(self._watchers["a"].keep_sampling(qps, pause_cycles=pause_cycles))

    def figures(self, *, began_ps: int) -> dict:
        """Return all of it, with times in microseconds from ``began_ps`` on."""

        def since(time_ps):
            return (time_ps - began_ps) / 1e6

        return {
            **self._observer.log.figures(began_ps=began_ps),
            "ev_news": [
                (since(time_ps), side, *rest)
                for side, watcher in self._watchers.items()
                for time_ps, *rest in watcher.news
            ],
            "ev_samples": [
                (since(time_ps), states) for time_ps, states in self._watchers["a"].samples
            ],
            "port_signs": [
                (since(time_ps), port, good)
                for port, mac in self._macs.macs.items()
                for time_ps, good in mac.signs
            ],
        }

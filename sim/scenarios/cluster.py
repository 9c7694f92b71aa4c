"""Runs on the workers of a Dask cluster."""

import contextlib
import time
import uuid
from collections.abc import Iterator

from .campaign import Workers

__all__ = ["cluster_workers"]

#: Seconds until a scheduler that does not answer is given up.
_CONNECT_S = 10

#: How often a worker asks whether to go on, in seconds.
_ASK_S = 1.0


class _Stop:
    """Whether a campaign is over: asked by workers, told by who has started it."""

    def __init__(self, name: str):
        self.name = name
        self._asked_at = 0.0
        self._is_over = False

    def __call__(self) -> bool:
        from distributed import Event

        now = time.monotonic()
        if now - self._asked_at >= _ASK_S:
            self._asked_at = now
            self._is_over = Event(self.name).is_set()
        return self._is_over


@contextlib.contextmanager
def cluster_workers(address: str) -> Iterator[Workers]:
    """Give workers that are those of a cluster.

    The workers need this package of the same version, Verilator and a compiler; each machine
    builds what is simulated once. Whatever ends the block, the workers end their simulators.

    Parameters
    ----------
    address : :class:`str`
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    RuntimeError
        If Dask is not installed, or there is no scheduler at the address.
    """
    try:
        from distributed import Client, Event
    except ImportError:
        raise RuntimeError("a scheduler needs Dask: pip install 'mrcnic[cluster]'") from None
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"there is no scheduler at {address}: {error}") from None
    with client:
        name = f"mrcnic-campaign-{uuid.uuid4()}"
        over = Event(name, client=client)
        executor = client.get_executor(pure=False)
        try:
            jobs = max(1, sum(client.nthreads().values()))
            yield Workers(executor=executor, jobs=jobs, stop=_Stop(name))
        finally:
            over.set()
            executor.shutdown(wait=False)

"""Frames into a lane, and the cycles in which something happens to them."""

from collections import deque

from amaranth.hdl import Cat, Value

__all__ = ["mean_steps", "play", "steps"]

#: Cycles in which nothing more happens, and cycles in which the first frame must have come out.
_QUIET, _PATIENCE = 40, 2000


async def play(ctx, feeds: list, queues: list, *, watched: dict[str, Value], until: tuple) -> dict:
    """Put what is queued into streams, and note when something happens.

    Parameters
    ----------
    feeds : list of streams
        Inputs.
    queues : list of list of :class:`int`
        For each input, what goes into it, without a pause.
    watched : dict of str to Value
        What may happen, each one bit that is set in the cycle in which it does.
    until : tuple of :class:`str` and :class:`int`
        What of that is waited for, and how often it has to happen.

    Returns
    -------
    dict of str to list of int
        Cycles by name.

    Raises
    ------
    RuntimeError
        If it does not happen as often, or more often.
    """
    name, times = until
    queues = [deque(queue) for queue in queues]
    bits = Cat(*(feed.ready for feed in feeds), *watched.values())
    seen = {name: [] for name in watched}
    patience = _PATIENCE + 4 * sum(map(len, queues))
    moved = [True] * len(feeds)
    quiet = 0
    for cycle in range(patience):
        for feed, queue, fresh in zip(feeds, queues, moved, strict=True):
            if fresh:
                ctx.set(feed.valid, bool(queue))
                ctx.set(Value.cast(feed.payload), queue[0] if queue else 0)
        now = ctx.get(bits)
        for n, queue in enumerate(queues):
            moved[n] = bool(queue) and now >> n & 1 == 1
            if moved[n]:
                queue.popleft()
        now >>= len(queues)
        for n, happens in enumerate(watched):
            if now >> n & 1:
                seen[happens].append(cycle)
        await ctx.tick()
        quiet += len(seen[name]) >= times
        if quiet == _QUIET:
            break
    if len(seen[name]) != times:
        raise RuntimeError(f"{name}: {len(seen[name])} times, not {times}, in {cycle} cycles")
    return seen


def steps(seen: dict, began: str, ended: str) -> int:
    """Return how many cycles lie between the first time of each.

    Examples
    --------
    >>> steps({"in": [1, 2], "out": [4, 6]}, "in", "out")
    3
    """
    return seen[ended][0] - seen[began][0]


def mean_steps(seen: dict, name: str) -> float:
    """Return the mean distance in cycles of what has happened at least twice.

    Examples
    --------
    >>> mean_steps({"out": [4, 6, 9]}, "out")
    2.5
    """
    cycles = seen[name]
    return (cycles[-1] - cycles[0]) / (len(cycles) - 1)

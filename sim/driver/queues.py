"""Work requests and their completions."""

from collections import deque
from dataclasses import dataclass

__all__ = ["SendQueue", "WorkRequest"]

#: A message must have fewer packets than half of the PSNs.
_MAX_PACKETS = (1 << 23) - 1


@dataclass(frozen=True, kw_only=True)
class WorkRequest:
    """One RDMA WRITE; the members are those of the NIC's work-request stream."""

    qp: int
    identifier: int
    local_address: int
    remote_address: int
    rkey: int
    octets: int
    with_immediate: int
    immediate: int


class SendQueue:
    """Work requests of a queue pair that have not ended, in order.

    Parameters
    ----------
    qp : :class:`int`
        Index of the queue pair.
    mtu : :class:`int`
        Its path MTU, in octets.
    depth : :class:`int`
        Requests that the NIC keeps for it.
    """

    def __init__(self, qp: int, *, mtu: int, depth: int):
        self.qp = qp
        self.mtu = mtu
        self.depth = depth
        self._under_way: deque[WorkRequest] = deque()
        self._next = 0

    @property
    def has_room(self) -> bool:
        """Whether another request can be posted."""
        return len(self._under_way) < self.depth

    @property
    def is_empty(self) -> bool:
        """Whether all that was posted has ended."""
        return not self._under_way

    def post(
        self,
        *,
        local_address: int,
        remote_address: int,
        rkey: int,
        octets: int,
        immediate: int | None = None,
    ) -> WorkRequest:
        """Return a work request to be given to the NIC.

        Raises
        ------
        ValueError
            If the length is not possible, or the queue is full.
        """
        if not 1 <= octets < 1 << 32:
            raise ValueError(f"octets must be from 1 to {(1 << 32) - 1}, not {octets}")
        packets = -(-octets // self.mtu)
        if packets > _MAX_PACKETS:
            raise ValueError(
                f"a message must have {_MAX_PACKETS} packets at most, "
                f"and {octets} octets take {packets} of {self.mtu}"
            )
        if not self.has_room:
            raise ValueError(f"there must be {self.depth} requests under way at most")
        request = WorkRequest(
            qp=self.qp,
            identifier=self._next,
            local_address=local_address,
            remote_address=remote_address,
            rkey=rkey,
            octets=octets,
            with_immediate=int(immediate is not None),
            immediate=immediate or 0,
        )
        self._next = (self._next + 1) % (1 << 32)
        self._under_way.append(request)
        return request

    def complete(self, identifier: int) -> WorkRequest:
        """Return the work request that has ended: the oldest.

        Raises
        ------
        ValueError
            If another one should have ended first.
        """
        if not self._under_way:
            raise ValueError(f"no request is under way, so {identifier} cannot have ended")
        if self._under_way[0].identifier != identifier:
            raise ValueError(
                f"request {self._under_way[0].identifier} must end before {identifier}"
            )
        return self._under_way.popleft()

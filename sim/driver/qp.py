"""Queue pairs: making and destroying them."""

from mrcnic.hdl.rows import Table

from .attributes import QpAttributes
from .nic import Nic
from .profiles import Profiles
from .queues import SendQueue

__all__ = ["QueuePair", "QueuePairs"]


class QueuePair:
    """A queue pair that the NIC has.

    Attributes
    ----------
    index : :class:`int`
        By which work requests and completions name it.
    attributes : :class:`~.attributes.QpAttributes`
        What it was made with.
    queue : :class:`~.queues.SendQueue`
        What it was asked to do.
    """

    def __init__(self, index: int, attributes: QpAttributes, queue: SendQueue):
        self.index = index
        self.attributes = attributes
        self.queue = queue


class QueuePairs:
    """All queue pairs of a NIC.

    Parameters
    ----------
    nic : :class:`~.nic.Nic`
        The NIC.
    profiles : :class:`~.profiles.Profiles`
        Its EV profiles: those that a QP uses cannot be changed.
    """

    def __init__(self, nic: Nic, profiles: Profiles):
        self._nic = nic
        self._profiles = profiles
        self._pairs: dict[int, QueuePair] = {}

    async def create(self, attributes: QpAttributes) -> QueuePair:
        """Make a queue pair, with nothing left of one that was there before.

        Raises
        ------
        ValueError
            If an attribute is not possible, the profile is empty, or the place is taken.
        """
        attributes.check(self._nic.config)
        index = attributes.qpn % self._nic.config.qps
        if index in self._pairs:
            raise ValueError(
                f"qpn {attributes.qpn:#x} must not share index {index} "
                f"with qpn {self._pairs[index].attributes.qpn:#x}"
            )
        self._profiles.hold(attributes.profile)
        try:
            await self._nic.write_row(
                Table.QP, index, active=1, **attributes.fields(self._nic.config)
            )
        except Exception:
            self._profiles.release(attributes.profile)
            raise
        queue = SendQueue(index, mtu=attributes.mtu, depth=self._nic.config.send_queue)
        self._pairs[index] = pair = QueuePair(index, attributes, queue)
        return pair

    async def destroy(self, pair: QueuePair):
        """Stop a queue pair. Others go on, also those with the same profile.

        Raises
        ------
        ValueError
            If it was destroyed before.
        """
        if self._pairs.get(pair.index) is not pair:
            raise ValueError(f"there is no such QP at index {pair.index}")
        await self._write(pair.index, pair.attributes, active=0)
        del self._pairs[pair.index]
        self._profiles.release(pair.attributes.profile)

    async def _write(self, index, attributes, *, active):
        fields = attributes.fields(self._nic.config)
        await self._nic.write_row(Table.QP, index, active=active, **fields)

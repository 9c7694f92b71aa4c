"""What happens to packets on their way, besides what the fabric itself does."""

import random
from collections import Counter

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.psn import psn_difference
from mrcnic.sim.codec.packet import Packet

__all__ = ["Misfortune"]

#: How long a packet is held up that others are to overtake, in picoseconds.
_HELD_UP_PS = 3_000_000


class Misfortune:
    """Loss, doubling and reordering, asked for by chance or packet by packet.

    It acts on each packet once, where it enters the fabric, so that a chance is that of the whole
    way.

    Parameters
    ----------
    spec : :class:`dict`
        ``drop``, ``duplicate``, ``reorder``, ``losses`` and ``seed`` of a
        :class:`~mrcnic.sim.scenarios.transfer.TransferSpec`.
    entrances : set of :class:`str`
        Names of the links into the fabric.
    """

    def __init__(self, spec: dict, *, entrances: set[str]):
        self.spec = spec
        self.entrances = entrances
        self.rng = random.Random(f"misfortune {spec['seed']}")
        self._first_psn: dict[int, int] = {}
        self._qp_of: dict[int, int] = {}
        self._left = {(kind, qp, packet): times for kind, qp, packet, times in spec["losses"]}
        self._seen: Counter = Counter()

    def add(self, qp: int, *, dqp: int, first_psn: int):
        """Tell the QP of packets whose BTH names ``dqp``."""
        self._qp_of[dqp] = qp
        self._first_psn[dqp] = first_psn

    def __call__(self, frame: bytes, time_ps: int, place: str):
        """Return what becomes of a frame; see :mod:`mrcnic.sim.fabric.faults`."""
        if place not in self.entrances:
            return None
        if self._left and self._is_marked(frame):
            return ()
        if self.rng.random() < self.spec["drop"]:
            return ()
        if self.rng.random() < self.spec["duplicate"]:
            return (0, frame), (self.rng.randrange(_HELD_UP_PS), frame)
        if self.rng.random() < self.spec["reorder"]:
            return ((_HELD_UP_PS, frame),)
        return None

    def _is_marked(self, frame: bytes) -> bool:
        packet = Packet.decode(frame)
        qp = self._qp_of.get(packet.dqp)
        kind = Opcode(packet.opcode).name
        if "reth" in packet.extensions:
            kind = "WRITE"
            number = psn_difference(packet.psn, self._first_psn[packet.dqp])
        else:
            number = self._seen[kind, qp]
            self._seen[kind, qp] += 1
        key = (kind, qp, number)
        if not self._left.get(key):
            return False
        self._left[key] -= 1
        return True

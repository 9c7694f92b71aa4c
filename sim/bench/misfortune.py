"""What happens to packets on their way, besides what the fabric itself does."""

import random
from collections import Counter

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.psn import psn_difference
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.errors import PacketError
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.transit import marked, trimmed
from mrcnic.sim.fabric.faults import corrupted

__all__ = ["Misfortune"]

#: How long a packet is held up that others are to overtake, in picoseconds.
_HELD_UP_PS = 3_000_000


class Misfortune:
    """What happens to packets one by one, asked for by chance or packet by packet.

    It acts on each packet once, where it enters the fabric, so that a chance is that of the whole
    way.

    Parameters
    ----------
    spec : :class:`dict`
        ``drop``, ``duplicate``, ``reorder``, ``corrupt``, ``trim``, ``mark``, ``drop_sacks``,
        ``losses``, ``dead_evs`` and ``seed`` of a
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
        self._to_receiver: set[int] = set()
        self._dead: list[tuple[int, int, int]] = []
        self._stopped = False

    def begin(self, now_ps: int):
        """Start the clock of the times in ``spec``."""
        self._dead = [
            (ev, now_ps + round(first_us * 1e6), now_ps + round(last_us * 1e6))
            for ev, first_us, last_us in self.spec["dead_evs"]
        ]

    def stop(self):
        """Leave all packets alone from now on."""
        self._stopped = True

    def add(self, qp: int, *, dqp: int, first_psn: int, to_receiver: bool):
        """Tell the QP of packets whose BTH names ``dqp``, and whether they are the sender's."""
        if to_receiver:
            self._to_receiver.add(dqp)
        self._qp_of[dqp] = qp
        self._first_psn[dqp] = first_psn

    def __call__(self, frame: bytes, time_ps: int, place: str):
        """Return what becomes of a frame; see :mod:`mrcnic.sim.fabric.faults`."""
        if self._stopped or place not in self.entrances:
            return None
        if self._left and self._is_chosen(frame):
            return ()
        if self._dead and self._is_on_dead_path(frame, time_ps):
            return ()
        if self._happens("drop"):
            return ()
        if self._happens("duplicate"):
            return (0, frame), (self.rng.randrange(_HELD_UP_PS), frame)
        if self._happens("reorder"):
            return ((self.rng.randrange(_HELD_UP_PS), frame),)
        if self._happens("corrupt"):
            return ((0, corrupted(frame, self.rng)),)
        if self._happens("trim"):
            cut = trimmed(frame, last_hop=self.rng.random() < 0.5)
            return None if cut is None else ((0, cut),)
        if self._happens("mark"):
            return ((0, marked(frame)),)
        if self._happens("drop_sacks") and self._is_sack(frame):
            return ()
        return None

    def _happens(self, what: str) -> bool:
        # Nothing is drawn for what cannot happen, so that it does not change the rest.
        return self.spec[what] > 0 and self.rng.random() < self.spec[what]

    @staticmethod
    def _is_sack(frame: bytes) -> bool:
        try:
            return Packet.decode(frame).opcode == Opcode.SACK
        except PacketError:
            return False

    def _is_on_dead_path(self, frame: bytes, time_ps: int) -> bool:
        dead = {ev for ev, first, last in self._dead if first <= time_ps < last}
        if not dead:
            return False
        packet = Packet.decode(frame)
        return packet.dqp in self._to_receiver and EvFields.unpack(packet.ev).index in dead

    def _is_chosen(self, frame: bytes) -> bool:
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

"""Credit that was lost shows: a QP with nothing under way cannot send a whole window."""

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.hdl.wire.psn import psn_add, psn_difference
from mrcnic.sim.codec.extensions import WRITE_OPCODES
from mrcnic.sim.codec.packet import Packet

__all__ = ["FirstFlight", "flight_packets"]

#: Headers of a write that count against the congestion window, from the inner IPv6 header on, with
#: an immediate.
_HEADERS = 40 + 8 + 12 + 4 + 4 + 16 + 4 + 4

#: A QP may hold so many times the payload slots that are free.
_SHARE = 4

#: All first flights together are to have left before the first answer, also where one leaf is all
#: of the way, and one port works: there and back takes 2 us.
_BUDGET_NS = 1200


def flight_packets(config: NicConfig, *, qps: int, mtu: int, cwnd: int, mpr: int) -> int:
    """Return how many packets of ``mtu`` octets each QP must be able to send without an answer."""
    octets = config.beat_octets * config.clk_hz * _BUDGET_NS // 10**9
    return max(
        1,
        min(
            cwnd // (mtu + _HEADERS),
            octets // (qps * (mtu + _HEADERS)),
            _SHARE * config.slots // (_SHARE * qps + 1),
            mpr * 128,
        ),
    )


class FirstFlight:
    """Watch first flights: it is fed with what A sends and receives.

    Parameters
    ----------
    packets : :class:`int`
        What each QP must send before the first answer.
    """

    def __init__(self, packets: int):
        self.packets = packets
        self._remote: dict[int, int] = {}  # own QPN to that of the peer
        self._psns: dict[int, list[int]] = {}  # of the peer's QPN
        self._answered: set[int] = set()

    def add(self, qpn: int, *, remote_qpn: int):
        """Watch a QP of A."""
        self._remote[qpn] = remote_qpn
        self._psns[remote_qpn] = []

    def sent(self, packet: Packet):
        """Take a packet that A sends."""
        psns = self._psns.get(packet.dqp)
        if psns is None or packet.opcode not in WRITE_OPCODES or packet.dqp in self._answered:
            return
        if packet.psn not in psns:
            psns.append(packet.psn)

    def received(self, packet: Packet):
        """Take a packet that A is given."""
        remote = self._remote.get(packet.dqp)
        if remote is None or packet.opcode != Opcode.SACK or not self._psns[remote]:
            return
        seth = packet.extensions["seth"]
        offset = (seth["ack_psn_offset"] ^ 0x8000) - 0x8000
        newest = 0 if seth["probe_reply"] else max(0, offset)
        # Answers to what was sent before may be late.
        if psn_difference(psn_add(seth["cack_psn"], newest), self._psns[remote][0]) >= 0:
            self._answered.add(remote)

    @property
    def shortfalls(self) -> list[str]:
        """Sentences about QPs that could not send all."""
        return [
            f"QP {qpn:#x} sends {len(self._psns[remote])} of {self.packets} packets at once"
            for qpn, remote in self._remote.items()
            if len(self._psns[remote]) < self.packets
        ]

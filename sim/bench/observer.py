"""Eyes on every port of a transfer: figures, time series, captures."""

from collections import Counter
from pathlib import Path

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.errors import PacketError
from mrcnic.sim.codec.extensions import WRITE_OPCODES
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.pcap import PcapWriter
from mrcnic.sim.fabric.counters import DropCause

from .first_flight import FirstFlight
from .mac import Macs
from .network import Network
from .packet_log import PacketLog

__all__ = ["Observer"]

_CONTROL = {
    "SACK": (Opcode.SACK,),
    "NACK": (Opcode.NACK,),
    "ACK": (Opcode.ACK,),
    "probe": (Opcode.PROBE,),
    "endpoint": (Opcode.ENDPOINT_REQUEST, Opcode.ENDPOINT_RESPONSE),
}


class Observer:
    """See every frame at the ports of the NICs, and count.

    Parameters
    ----------
    macs : :class:`~mrcnic.sim.bench.mac.Macs`
    network : :class:`~mrcnic.sim.bench.network.Network`
    pcap : :class:`str` or None
        Folder for a capture of each port.
    log : :class:`bool`
        Keep what happened to every packet.

    Attributes
    ----------
    malformed : list of :class:`str`
        Frames from a NIC that the codec does not take.
    watcher : :class:`~mrcnic.sim.bench.first_flight.FirstFlight`, optional
        Told of what A sends and receives.
    log : :class:`~mrcnic.sim.bench.packet_log.PacketLog` or None
        Every packet.
    """

    def __init__(self, macs: Macs, network: Network, *, pcap: str | None, log: bool = False):
        self.network = network
        self.macs = macs.macs
        self.log = PacketLog() if log else None
        self.malformed: list[str] = []
        self.watcher: FirstFlight | None = None
        self.packets = Counter()  # by opcode
        self.resends = self.lost_writes = 0
        self.drops = Counter()
        self._planes = network.topology.planes
        self._per_plane = [0] * self._planes
        self._per_ev = Counter()
        self._timeline: list[tuple[int, int, bool]] = []  # time, plane, resent
        self._arrivals: list[tuple[int, int]] = []  # time, payload octets
        self._events: list[tuple[int, str]] = []
        self._writers = {}
        if pcap:
            folder = Path(pcap)
            folder.mkdir(parents=True, exist_ok=True)
            self._writers = {
                port: PcapWriter(folder / f"{port}.pcapng") for port in network.topology.ports
            }
        macs.sent = self._sent
        macs.received = self._received
        network.fabric.drop_observers.append(self._dropped)
        network.fabric.fault_observers.append(self._failed)

    def close(self):
        """Finish the captures."""
        for writer in self._writers.values():
            writer.close()

    def _sent(self, port: str, frame: bytes, time_ps: int):
        self._capture(port, frame, time_ps)
        try:
            packet = Packet.decode(frame)
        except PacketError as error:
            self.malformed.append(f"{port} sent a frame that is malformed: {error}")
            return
        self.packets[packet.opcode] += 1
        if self.log:
            self.log.note_sent(port, packet, time_ps, self.macs[port].began_ps)
        if packet.opcode in WRITE_OPCODES:
            plane = self.network.topology.plane_of[port]
            self.resends += packet.retransmission
            self._per_plane[plane] += 1
            self._per_ev[EvFields.unpack(packet.ev).index] += 1
            self._timeline.append((time_ps, plane, bool(packet.retransmission)))
        if port.startswith(self.network.receiver.name):
            if self.network.scoreboard:  # ports are tried before there is anything to write
                self.network.scoreboard.said(packet)
        elif self.watcher:
            self.watcher.sent(packet)

    def _received(self, port: str, frame: bytes, time_ps: int):
        self._capture(port, frame, time_ps)
        is_sender = port.startswith(self.network.sender.name)
        if is_sender and not self.watcher and not self.log:
            return
        try:
            packet = Packet.decode(frame)
        except PacketError:
            return  # the NIC must drop it as well
        if self.log:
            self.log.note_arrived(port, packet, time_ps)
        if is_sender:
            if self.watcher:
                self.watcher.received(packet)
            return
        if packet.opcode in WRITE_OPCODES and not packet.trimmed:
            self._arrivals.append((time_ps, len(packet.payload)))
            self.network.scoreboard.arrived(packet)

    def _dropped(self, cause, place: str, time_ps: int, frame: bytes):
        # All that meddles with packets of a transfer is chance.
        name = "random" if cause == DropCause.MEDDLER else cause.value
        self.drops[name] += 1
        self.lost_writes += self._is_write(frame)
        if self.log:
            self.log.note_lost(place, frame, time_ps)

    @staticmethod
    def _is_write(frame: bytes) -> bool:
        try:
            return Packet.decode(frame).opcode in WRITE_OPCODES
        except PacketError:
            return False

    def _failed(self, fault):
        self._events.append((fault.time_ps, str(fault)))

    def _capture(self, port: str, frame: bytes, time_ps: int):
        if writer := self._writers.get(port):
            writer.write(port, time_ps // 1000, frame)

    def figures(self, *, evs: int, began_ps: int) -> dict:
        """Return what was seen, for the table and the plot."""
        control = {
            name: sum(self.packets[opcode] for opcode in opcodes)
            for name, opcodes in _CONTROL.items()
        }
        return {
            "packets": sum(self._per_plane),
            "packets_per_plane": self._per_plane,
            "packets_per_ev": [self._per_ev[n] for n in range(evs)],
            "control_packets": control,
            "resends": self.resends,
            "lost_writes": self.lost_writes,
            "drops": sum(self.drops.values()),
            "drops_by_cause": dict(self.drops),
            "foreign_frames": self.network.fabric.foreign,
            "malformed": self.malformed[:10],
            "scoreboard_faults": self.network.scoreboard.faults[:10],
            "series": self._series(began_ps),
        }

    def _series(self, began_ps: int) -> dict:
        """Return counts in bins: about 100 bins, of a round width."""
        times = [time for time, *_ in (*self._timeline, *self._arrivals)]
        span_us = (max(times, default=began_ps) - began_ps) / 1e6
        width = next(
            w for w in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if span_us <= 120 * w
        )
        bins = int(span_us / width) + 1

        def place(time_ps):
            return min(bins - 1, max(0, int((time_ps - began_ps) / 1e6 / width)))

        octets = [0] * bins
        for time_ps, count in self._arrivals:
            octets[place(time_ps)] += count
        planes = [[0] * bins for _ in range(self._planes)]
        resends = [0] * bins
        for time_ps, plane, resent in self._timeline:
            planes[plane][place(time_ps)] += 1
            resends[place(time_ps)] += resent
        events = [
            {"time_us": (time_ps - began_ps) / 1e6, "what": what} for time_ps, what in self._events
        ]
        return {
            "bin_us": width,
            "octets": octets,
            "planes": planes,
            "resends": resends,
            "events": events,
        }

"""MACs between the lanes of the simulated NICs and a fabric, in one task for all of them."""

from collections import deque
from collections.abc import Callable

from cocotb.triggers import RisingEdge

from mrcnic.hdl.descriptor.settings import MacStatus

from .mac_status import MacStatusModel, StatusDelays

__all__ = ["Mac", "Macs"]

#: Delays of the status pins, which are those of a real MAC but for one: alignment markers come so
#: often that a port is back in a short simulation.
STATUS_DELAYS = StatusDelays(markers=1_000_000)

#: Octets around a frame on the wire: preamble, frame check sequence, gap (IEEE 802.3).
OVERHEAD_OCTETS = 8 + 4 + 12


class Mac:
    """One port: frames out of ``m_axis_tx`` and into ``s_axis_rx``, at the rate of the wire.

    A frame that the NIC has begun is taken in every cycle, as a real MAC would; an idle beat inside
    a frame is an error, since it would kill the frame on the wire. Between frames the MAC is busy
    until the wire is free.

    Parameters
    ----------
    dut
        Handle of the design.
    side : :class:`str`
        Prefix of the NIC's ports.
    port : :class:`int`
        Number of the port.
    beat_octets : :class:`int`
        Octets per beat.
    rate_bps : :class:`int`
        Rate of the wire.

    Attributes
    ----------
    underruns, tx_beats : :class:`int`
        Idle beats inside frames from the NIC; beats of them.
    began_ps : :class:`int`
        When the first beat of the latest frame left the NIC.
    signs : list of (:class:`int`, :class:`bool`)
        Times at which the status pins began to be good, or no longer were.
    """

    def __init__(self, dut, *, side: str, port: int, beat_octets: int, rate_bps: int):
        self.name = f"{side}{port}"
        self.beat_octets = beat_octets
        self.ps_per_octet = 8 * 10**12 // rate_bps
        tx, rx = f"{side}_m_axis_tx{port}_", f"{side}_s_axis_rx{port}_"
        self._tx = [getattr(dut, tx + n) for n in ("tvalid", "tdata", "tkeep", "tlast")]
        self._tx_ready = getattr(dut, f"{tx}tready")
        self._rx_valid = getattr(dut, f"{rx}tvalid")
        self._rx = [getattr(dut, rx + n) for n in ("tdata", "tkeep", "tlast", "tuser")]
        self._status = {
            name: getattr(dut, f"{side}_mac{port}_{name}") for name in MacStatus().members
        }
        self._link = MacStatusModel(STATUS_DELAYS)
        self._plugged = True
        self._octets = bytearray()
        self._started_at = 0  # when the frame that crosses began
        self._free_at = 0  # when the wire out is free, in ps
        self._ready = False
        self._inbox: deque[bytes] = deque()
        self._beats: deque[tuple[int, int, int]] = deque()
        self._driving = False
        self.underruns = 0
        self.tx_beats = 0
        self.began_ps = 0
        self.signs: list[tuple[int, bool]] = []

    def reset(self):
        """Drive every input of the port to a defined value; the link is up, without heartbeat."""
        self._tx_ready.value = 0
        self._rx_valid.value = 0
        for handle in self._rx:
            handle.value = 0
        for handle in self._status.values():
            handle.value = 0
        self._show(0)

    def set_link(self, up: bool, now_ps: int):
        """Plug the cable, or pull it: the status pins say so when a MAC would."""
        if up != self._plugged:
            self._plugged = up
            change = self._link.mend if up else self._link.cut
            change(now_ps)

    def _show(self, now_ps):
        pins = self._link.at(now_ps)
        good = bool(pins.aligned and not pins.local_fault and not pins.remote_fault)
        if not self.signs or self.signs[-1][1] != good:
            self.signs.append((now_ps, good))
        for name, handle in self._status.items():
            if name != "heartbeat":
                handle.value = getattr(pins, name)

    def deliver(self, frame: bytes):
        """Queue ``frame`` for the NIC."""
        self._inbox.append(frame)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way through this port."""
        return not (self._octets or self._inbox or self._beats)

    def sample(self, now_ps: int) -> bytes | None:
        """Look at the outputs of the cycle that ends; return a frame that ended with it."""
        valid, data, keep, last = self._tx
        if not self._ready:
            return None
        if not valid.value:
            self.underruns += bool(self._octets)
            return None
        self.tx_beats += 1
        if not self._octets:
            self.began_ps = now_ps
            self._started_at = max(now_ps, self._free_at)
        count = int(keep.value).bit_count()
        self._octets += int(data.value).to_bytes(self.beat_octets, "little")[:count]
        if not last.value:
            return None
        frame = bytes(self._octets)
        self._octets.clear()
        self._free_at = self._started_at + (len(frame) + OVERHEAD_OCTETS) * self.ps_per_octet
        return frame

    def drive(self, now_ps: int):
        """Set the inputs of the cycle that begins."""
        if not self._link.settled:
            self._show(now_ps)
        ready = bool(self._octets) or now_ps >= self._free_at
        if ready != self._ready:
            self._ready = ready
            self._tx_ready.value = ready
        if not self._beats and self._inbox:
            self._cut(self._inbox.popleft())
        if self._beats:
            for handle, value in zip(self._rx, self._beats.popleft(), strict=True):
                handle.value = value
            if not self._driving:
                self._driving = True
                self._rx_valid.value = 1
        elif self._driving:
            self._driving = False
            self._rx_valid.value = 0

    def _cut(self, frame: bytes):
        size = self.beat_octets
        for start in range(0, len(frame), size):
            octets = frame[start : start + size]
            last = start + size >= len(frame)
            self._beats.append((
                int.from_bytes(octets, "little"),
                (1 << len(octets)) - 1,
                int(last),
                0,
            ))


class Macs:
    """All MACs of a simulation and the fabric between them.

    Parameters
    ----------
    macs : list of :class:`Mac`
    fabric : :class:`~mrcnic.sim.fabric.events.EventFabric`
        Its port names are those of the MACs.
    clk
        Clock of the design.
    period_ps : :class:`int`
        Its period.
    """

    def __init__(self, macs: list[Mac], fabric, *, clk, period_ps: int):
        self.macs = {mac.name: mac for mac in macs}
        self.fabric = fabric
        self.clk = clk
        self.period_ps = period_ps
        self.cycles = 0
        self.sent: Callable[[str, bytes, int], None] = lambda port, frame, time_ps: None
        self.received: Callable[[str, bytes, int], None] = lambda port, frame, time_ps: None
        fabric.fault_observers.append(self._set_links)

    @property
    def now_ps(self) -> int:
        """Time since the start, in picoseconds."""
        return self.cycles * self.period_ps

    async def run(self):
        """Carry frames for ever."""
        macs = list(self.macs.values())
        while True:
            await RisingEdge(self.clk)
            self.cycles += 1
            now = self.now_ps
            for mac in macs:
                frame = mac.sample(now)
                if frame is not None:
                    self.sent(mac.name, frame, now)
                    self.fabric.send(mac.name, frame, now)
            for time_ps, port, frame in self.fabric.advance(now):
                self.received(port, frame, time_ps)
                self.macs[port].deliver(frame)
            for mac in macs:
                mac.drive(now)

    def _set_links(self, fault):
        for name, mac in self.macs.items():
            mac.set_link(self.fabric.port_up(name), self.now_ps)

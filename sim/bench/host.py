"""The host of a simulated NIC: memory, registers, work requests, completions."""

from collections import deque

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import ReceiveCompletion
from mrcnic.hdl.descriptor.outcome import Completion
from mrcnic.hdl.descriptor.outwards import WorkRequest
from mrcnic.hdl.descriptor.paths import EvAnswer, EvNews, EvQuery

__all__ = ["AxiLiteRegisters", "Host", "PlainStream"]


#: Pins of a stream that its producer drives.
_INPUT = ("tvalid", "tdata")


class AxiLiteRegisters:
    """Registers over AXI4-Lite, as the driver wants them."""

    def __init__(self, dut, *, side: str):
        bus = AxiLiteBus.from_prefix(dut, f"{side}_s_axil")
        self._master = AxiLiteMaster(bus, dut.clk, dut.rst)

    async def read32(self, address: int) -> int:
        """Read a register."""
        return await self._master.read_dword(address)

    async def write32(self, address: int, value: int):
        """Write a register."""
        await self._master.write_dword(address, value)


class PlainStream:
    """A stream of single transfers under AXI4-Stream's names."""

    def __init__(self, dut, prefix: str, layout):
        self.layout = layout
        self.clk = dut.clk
        self.data = getattr(dut, f"{prefix}_tdata")
        self.valid = getattr(dut, f"{prefix}_tvalid")
        self.ready = getattr(dut, f"{prefix}_tready")

    async def send(self, **fields):
        """Offer one transfer until it is taken."""
        self.data.value = self.layout.const(fields).as_bits()
        self.valid.value = 1
        await RisingEdge(self.clk)
        while not self.ready.value:
            await RisingEdge(self.clk)
        self.valid.value = 0

    async def receive(self):
        """Take one transfer."""
        self.ready.value = 1
        await RisingEdge(self.clk)
        while not self.valid.value:
            await RisingEdge(self.clk)
        self.ready.value = 0
        return self.layout.from_bits(int(self.data.value))


class Host:
    """One side of a simulation.

    Parameters
    ----------
    dut
        Handle of the design.
    side : :class:`str`
        Prefix of the NIC's ports.
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes of the NIC.
    memory_octets : :class:`int`
        Size of host memory.

    Attributes
    ----------
    memory : :class:`cocotbext.axi.AxiRam`
        Host memory; every lane's master sees the same octets.
    """

    def __init__(self, dut, *, side: str, config: NicConfig, memory_octets: int):
        self.side = side
        self.clk = dut.clk
        self.registers = AxiLiteRegisters(dut, side=side)
        self.memory = None
        self._rams = []
        for p in range(config.lanes):
            bus = AxiBus.from_prefix(dut, f"{side}_m_axi{p}")
            shared = None if self.memory is None else self.memory.mem
            ram = AxiRam(bus, dut.clk, dut.rst, size=memory_octets, mem=shared)
            self.memory = self.memory or ram
            self._rams.append(ram)
        self.work = PlainStream(dut, f"{side}_s_axis_wr", WorkRequest(config))
        self.completions = PlainStream(dut, f"{side}_m_axis_cq", Completion(config))
        self.received = PlainStream(dut, f"{side}_m_axis_rq", ReceiveCompletion(config))
        self.ev_news = PlainStream(dut, f"{side}_m_axis_evn", EvNews(config))
        self.ev_queries = PlainStream(dut, f"{side}_s_axis_evq", EvQuery(config))
        self.ev_answers = PlainStream(dut, f"{side}_m_axis_eva", EvAnswer())
        # What no bench is interested in: inputs that stay at zero, and outputs that are let go.
        idle = ("evo", "evq", "epr")
        self._quiet = [getattr(dut, f"{side}_s_axis_{n}_{pin}") for n in idle for pin in _INPUT]
        self._open = [getattr(dut, f"{side}_m_axis_{n}_tready") for n in ("evn", "eva", "epa")]
        for p in range(config.lanes):
            pins = (*_INPUT, "tkeep", "tlast", "tuser")
            self._quiet += [getattr(dut, f"{side}_s_axis_host{p}_{pin}") for pin in pins]
            self._quiet.append(getattr(dut, f"{side}_mac{p}_pause"))
            self._open.append(getattr(dut, f"{side}_m_axis_host{p}_tready"))
        self.completed: deque = deque()
        self.immediates: deque = deque()

    def reset(self):
        """Drive every input to a defined value."""
        self.work.valid.value = 0
        self.work.data.value = 0
        self.completions.ready.value = 0
        self.received.ready.value = 0
        for handle in self._quiet:
            handle.value = 0
        for handle in self._open:
            handle.value = 1

    def fill(self, octet: bytes):
        """Let all of memory hold an octet."""
        self.memory.write(0, octet * len(self.contents()))

    def contents(self) -> bytes:
        """Return all of memory."""
        return bytes(self.memory.mem[:])

    def stall(self, stalls: bool = True):
        """Let memory take nothing and answer nothing, or go on."""
        for ram in self._rams:
            for channel in (
                ram.write_if.aw_channel,
                ram.write_if.w_channel,
                ram.write_if.b_channel,
                ram.read_if.ar_channel,
                ram.read_if.r_channel,
            ):
                channel.pause = stalls

    async def collect_completions(self):
        """Put completions into ``completed``, for ever."""
        while True:
            self.completed.append(await self.completions.receive())

    async def collect_immediates(self):
        """Put receive completions into ``immediates``, for ever."""
        while True:
            self.immediates.append(await self.received.receive())

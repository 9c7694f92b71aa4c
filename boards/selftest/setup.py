"""What the driver would write into the registers of the NICs, found out beforehand."""

from collections.abc import Coroutine
from dataclasses import dataclass

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.driver.attributes import Carrier, QpAttributes
from mrcnic.sim.driver.memory import MemoryRegions
from mrcnic.sim.driver.nic import Nic, PortAddresses
from mrcnic.sim.driver.profiles import Profiles, spread_evs
from mrcnic.sim.driver.qp import QueuePairs
from mrcnic.sim.driver.twin import RegisterTwin

from .fabric import SPINES

__all__ = ["BASE", "OCTETS", "Setup", "Step", "nic_mac", "setup_of", "switch_mac"]

#: Memory that the other end may write to; addresses of both ends are the same.
BASE, OCTETS = 0x1000_0000, 1 << 16

_BLOCK = 0xFCBB_BBBB
_ADDRESS = 0xFD00_0000_0000_0000_0000_0000_0000_0000
_QPN = 0x100
_PSN = 0xFF_FFF0  # numbers wrap early

# uSIDs: kind in bits 10 and 11, index below (docs/protocol.md, "EV and uSID layout").
_T0, _T1, _NIC = 1 << 10, 2 << 10, 3 << 10

#: In ticks of 128 ns: what the pipe takes there and back, and what its queue may.
_BASE_RTT, _TARGET_DELAY, _HOLD_OFF = 100, 80, 8


def nic_mac(number: int) -> int:
    """Return the MAC address of a NIC."""
    return 0x0200_0000_0010 + number


def switch_mac(number: int) -> int:
    """Return the MAC address of the switch that a NIC is at."""
    return 0x0200_0000_0020 + number


@dataclass(frozen=True)
class Step:
    """An access to a register: a word to be written, or one to be waited for."""

    write: bool
    address: int
    data: int


@dataclass(frozen=True)
class Setup:
    """How a NIC is set up.

    Attributes
    ----------
    steps : :class:`tuple` of :class:`Step`
    qp : :class:`int`
        Index of the queue pair.
    rkey : :class:`int`
        Key of the memory at both ends.
    """

    steps: tuple[Step, ...]
    qp: int
    rkey: int


class _Recorder:
    """A bus that writes down what is asked of it, and what a NIC would answer."""

    def __init__(self, twin: RegisterTwin):
        self._twin = twin
        self.steps: list[Step] = []

    async def read32(self, address: int) -> int:
        value = await self._twin.read32(address)
        self.steps.append(Step(False, address, value))
        return value

    async def write32(self, address: int, value: int):
        await self._twin.write32(address, value)
        self.steps.append(Step(True, address, value))


def setup_of(config: NicConfig, *, number: int, peer: int) -> Setup:
    """Return the set-up of a NIC, by the driver itself.

    What the driver reads to know its NIC becomes a word to be waited for, so that a NIC with other
    sizes, or one that refuses a row, is never done.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    number, peer : :class:`int`
        Of the NIC, and of the one it is connected to, which may be itself.
    """
    recorder = _Recorder(RegisterTwin(config))
    qp, rkey = _run(_set_up(recorder, number, peer))
    return Setup(tuple(recorder.steps), qp, rkey)


def _run(coroutine: Coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the driver waits for what does not come")


async def _set_up(bus, number, peer):
    nic = await Nic.open(bus)
    await nic.write("loopback", _ADDRESS + number)
    await nic.write("block", _BLOCK)
    await nic.write("base_rtt", _BASE_RTT)
    await nic.write("target_delay", _TARGET_DELAY)
    await nic.write("hold_off", _HOLD_OFF)
    await nic.set_port(
        0,
        PortAddresses(
            own_mac=nic_mac(number),
            next_hop_mac=switch_mac(number),
            underlay=_ADDRESS + 0x100 + number,
            usid=_NIC + number,
        ),
    )
    profiles = Profiles(nic)
    uplinks = [spine + 1 for spine in range(SPINES)]
    await profiles.write(0, spread_evs(nic.config, uplinks=uplinks))
    region = await MemoryRegions(nic).register(base=BASE, octets=OCTETS)
    pair = await QueuePairs(nic, profiles).create(
        QpAttributes(
            qpn=_QPN + number,
            remote_qpn=_QPN + peer,
            destination=_ADDRESS + peer,
            carrier=Carrier(
                block=_BLOCK,
                usids=(_T0 + 1 + number, _T1, _T0 + 1 + peer, _NIC + peer),
                uplink=1,
            ),
            mtu=nic.config.mtu,
            tx_psn=_PSN,
            rx_psn=_PSN,
            mpr=1,
            cwnd=8 * nic.config.mtu,
            timeout=3,  # 8 us; the pipe takes one or two
            exponential_count=25,
        )
    )
    await nic.enable_port(0)
    return pair.index, region.rkey

"""The driver on the registers themselves, beside their twin: both must say the same."""

import axil_host

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.host.csr import RegisterBank
from mrcnic.hdl.rows import Table
from mrcnic.sim.bench.streams import simulate
from mrcnic.sim.driver.attributes import Carrier, QpAttributes
from mrcnic.sim.driver.memory import MemoryRegions
from mrcnic.sim.driver.nic import Nic, PortAddresses
from mrcnic.sim.driver.profiles import Profiles, spread_evs
from mrcnic.sim.driver.qp import QueuePairs
from mrcnic.sim.driver.twin import RegisterTwin

CONFIG = PRESETS["tiny"].override(evs=4, profiles=2)
EVENTS = ["rx_icrc_error", "tx_sent"]


class Both:
    """The gateware and its twin, which have to read the same."""

    def __init__(self, ctx, dut):
        self.ctx = ctx
        self.dut = dut
        self.twin = RegisterTwin(CONFIG, EVENTS)

    async def read32(self, address):
        word, _ = await axil_host.read(self.ctx, self.dut.axil, address)
        if address != 0x20C:  # how long a table is busy is not the twin's affair
            assert word == await self.twin.read32(address), hex(address)
        return word

    async def write32(self, address, value):
        await self.twin.write32(address, value)
        await axil_host.write(self.ctx, self.dut.axil, address, value)


def test_a_nic_is_set_up():
    dut = RegisterBank(CONFIG, EVENTS)
    taken = []

    async def rooms(ctx):
        while True:
            ctx.set(dut.table.ready, 1)
            _, _, valid, write = await ctx.tick().sample(dut.table.valid, dut.table.payload)
            if valid:
                taken.append((write.table, write.index))
                if write.table == Table.REGION:
                    return

    async def driver(ctx):
        nic = await Nic.open(Both(ctx, dut), event_names=EVENTS)
        assert nic.config == CONFIG
        await nic.write("loopback", 0xFD00 << 112 | 1)
        await nic.set_port(0, PortAddresses(own_mac=1, next_hop_mac=2, underlay=3, usid=0x0C01))
        await nic.enable_port(0)
        assert ctx.get(dut.settings.port[0].enable)
        profiles = Profiles(nic)
        await profiles.write(1, spread_evs(CONFIG, uplinks=[1]))
        pairs = QueuePairs(nic, profiles)
        attributes = QpAttributes(
            qpn=0x105,
            remote_qpn=0x34,
            destination=0xFD00 << 112 | 2,
            carrier=Carrier(block=0xFCBBBBBB, usids=[0x0401, 0x0C05]),
            profile=1,
            mtu=1024,
            mpr=1,
        )
        pair = await pairs.create(attributes)
        assert (await nic.read_row(Table.QP, pair.index))["qpn"] == 0x105
        assert (await nic.read_row(Table.EV, 7))["valid"] == 1
        assert (await nic.read_row(Table.EV, 3))["valid"] == 0
        await pairs.destroy(pair)
        assert await nic.counters() == dict.fromkeys(EVENTS, 0)
        assert await nic.port_changes(0) == {"rose": set(), "fell": set()}
        await MemoryRegions(nic).register(base=0x1000, octets=4096)
        ev_rows = [(Table.EV, n) for n in range(4, 8)]
        qp_rows = [(Table.QP, 1)] * 2
        assert taken == [(Table.PROFILE, 1), *ev_rows, *qp_rows, (Table.REGION, 0)]

    simulate(dut, driver, rooms, max_cycles=20_000)

import asyncio

import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.rows import Table
from mrcnic.sim.driver.nic import Nic, NicError, PortAddresses
from mrcnic.sim.driver.twin import RegisterTwin

CONFIG = PRESETS["sim"]
EVENTS = ["rx_icrc_error", "tx_sent", "port0_port_down"]


def run(test, *, config=CONFIG, events=EVENTS):
    async def whole():
        twin = RegisterTwin(config, events)
        await test(twin, await Nic.open(twin, event_names=events))

    asyncio.run(whole())


@pytest.mark.parametrize("preset", PRESETS)
def test_sizes_are_found_out(preset):
    async def test(twin, nic):
        assert nic.config == PRESETS[preset]

    run(test, config=PRESETS[preset])


def test_links_are_inferred_on_demand():
    async def test(twin, nic):
        assert await nic.read("link_inference") == 0
        await nic.infer_links(threshold=2)
        assert await nic.read("link_inference") == 1
        assert await nic.read("link_threshold") == 2
        await nic.infer_links(False)
        assert await nic.read("link_inference") == 0
        with pytest.raises(ValueError, match="threshold must be from 1 to 7, not 0"):
            await nic.infer_links(threshold=0)

    run(test)


class Constant:
    def __init__(self, **values):
        self.values = values

    async def read32(self, address):
        return self.values.get(f"at_{address:x}", 0)

    async def write32(self, address, value):
        pass


@pytest.mark.parametrize(
    ("bus", "message"),
    [
        (Constant(), "magic must read 0x4d52434e, not 0x00000000: there is no NIC"),
        (
            Constant(at_0=0x4D52434E, at_4=0x2_0000),
            "the upper half of version must be 1, which this driver knows, not 2",
        ),
        (
            RegisterTwin(CONFIG, ["other"]),
            "counter_names must be 0xbd11598b for these 3 names, not 0xd9583520",
        ),
    ],
)
def test_what_is_no_such_nic_is_refused(bus, message):
    with pytest.raises(NicError) as error:
        asyncio.run(Nic.open(bus, event_names=EVENTS))
    assert str(error.value) == message


def test_a_nic_that_stays_busy_is_given_up():
    class Busy(RegisterTwin):
        async def read32(self, address):
            return 1 if address == 0x20C else await super().read32(address)

    with pytest.raises(NicError, match=r"^table_status stays busy"):
        asyncio.run(Nic.open(Busy(CONFIG)))


def test_settings_of_any_width():
    async def test(twin, nic):
        await nic.write("loopback", 0x2001_0DB8 << 96 | 1)
        assert await nic.read("loopback") == 0x2001_0DB8 << 96 | 1
        with pytest.raises(ValueError, match=r"^hop_limit must be from 0 to 0xff, not 0x100$"):
            await nic.write("hop_limit", 256)
        with pytest.raises(KeyError, match="there is no register hops"):
            await nic.write("hops", 1)
        assert await nic.read("hop_limit") == 64

    run(test)


def test_ports():
    async def test(twin, nic):
        addresses = PortAddresses(own_mac=0x02, next_hop_mac=0x03, underlay=4 << 64, usid=0x2C05)
        await nic.set_port(1, addresses)
        await nic.enable_port(1)
        assert await nic.read("port1_underlay") == 4 << 64
        assert await nic.read("port1_usid") == 0x2C05
        assert await nic.read("port1_enable") == 1
        assert await nic.read("port0_enable") == 0
        with pytest.raises(ValueError, match=r"^port must be from 0 to 1, not 2$"):
            await nic.enable_port(2)

    run(test)


def test_signs_of_a_port_and_their_changes():
    async def test(twin, nic):
        twin.set_signs(1, 0b1111)
        signs = ("up", "link", "remote", "clock")
        bad = dict.fromkeys(("proven", "degraded"), False)
        assert await nic.port_status(1) == dict.fromkeys(signs, True) | bad
        assert await nic.port_changes(1) == {
            "rose": {"up", "link", "remote", "clock"},
            "fell": set(),
        }
        twin.set_signs(1, 0b1100)
        twin.set_signs(1, 0b1110)
        assert await nic.port_changes(1) == {"rose": {"link"}, "fell": {"up", "link"}}
        assert await nic.port_changes(1) == {"rose": set(), "fell": set()}
        assert not (await nic.port_status(1))["up"]

    run(test)


def test_counters_by_name():
    async def test(twin, nic):
        twin.totals[:] = [1, 2**40 + 5, 3]
        assert await nic.counters() == {
            "rx_icrc_error": 1,
            "tx_sent": 2**40 + 5,
            "port0_port_down": 3,
        }

    run(test)


def test_rows():
    async def test(twin, nic):
        await nic.write_row(Table.EV, 1023, valid=1, ev=0xC0052010)
        assert await nic.read_row(Table.EV, 1023) == {"valid": 1, "active": 0, "ev": 0xC0052010}
        with pytest.raises(NicError, match=r"^the NIC refuses row 1024 of table EV$"):
            await nic.write_row(Table.EV, 1024, valid=1)
        with pytest.raises(ValueError, match="ev must fit in 32 bits"):
            await nic.write_row(Table.EV, 0, ev=1 << 32)

    run(test)

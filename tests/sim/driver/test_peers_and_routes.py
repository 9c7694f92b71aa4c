import asyncio

import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.rows import Table
from mrcnic.sim.driver.attributes import Carrier
from mrcnic.sim.driver.nic import Nic
from mrcnic.sim.driver.peers import Peer, Peers
from mrcnic.sim.driver.routes import Routes
from mrcnic.sim.driver.twin import RegisterTwin

CONFIG = PRESETS["sim"]
CARRIER = Carrier(block=0x5F00_0001, usids=[0x0401, 0x0800, 0x0402, 0x0C05], uplink=1)


def run(test):
    async def whole():
        await test(await Nic.open(RegisterTwin(CONFIG)))

    asyncio.run(whole())


def test_a_route_has_its_segments_for_each_port():
    async def test(nic):
        routes = Routes(nic)
        await routes.add([[7], [8]])
        route = await routes.add([[0xA1, 0xA2], [0xB1, 0xB2]], reduced=True)
        assert route.fields == {"segments": 3, "reduced": 1, "route": 1}
        for port, segments in enumerate([[0xA1, 0xA2], [0xB1, 0xB2]]):
            for n, segment in enumerate(segments, 1):
                index = (port * CONFIG.routes + 1) * 8 + n
                assert (await nic.read_row(Table.ROUTE, index))["segment"] == segment
        routes.remove(route)
        assert (await routes.add([[], []])).fields["segments"] == 1

    run(test)


@pytest.mark.parametrize(
    ("segments", "reduced", "message"),
    [
        ([[1]], False, "segments must be given for 2 ports, not 1"),
        ([[1], [1, 2]], False, "segments must be as many for each port"),
        ([[1] * 8] * 2, False, "segments must be at most 7, not 8"),
        ([[], []], True, "reduced needs a second segment"),
    ],
)
def test_what_is_no_route_is_refused(segments, reduced, message):
    async def test(nic):
        with pytest.raises(ValueError, match=message):
            await Routes(nic).add(segments, reduced=reduced)

    run(test)


def test_routes_run_out():
    async def test(nic):
        routes = Routes(nic)
        for _ in range(CONFIG.routes):
            await routes.add([[1], [2]])
        with pytest.raises(ValueError, match=f"there must be {CONFIG.routes} routes at most"):
            await routes.add([[1], [2]])

    run(test)


def test_rows_of_remote_nics():
    async def test(nic):
        peers = Peers(nic)
        await peers.add(Peer(address=1))
        number = await peers.add(Peer(address=0xFD00 << 112, carrier=CARRIER, uplinks=4))
        row = await nic.read_row(Table.PEER, number)
        assert (row["valid"], row["srv6"], row["address"]) == (1, 1, 0xFD00 << 112)
        assert row["carrier"] == 0x5F00_0001_0401_0800_0402_0C05 << 32
        assert (row["uplink_first"], row["uplinks"]) == (0, 4)
        await peers.remove(number)
        assert not (await nic.read_row(Table.PEER, number))["valid"]
        with pytest.raises(ValueError, match="there is no remote NIC 1"):
            await peers.remove(number)
        with pytest.raises(ValueError, match="uplinks must be from 1 to 256, not 0"):
            await peers.add(Peer(address=1, uplinks=0))

    run(test)

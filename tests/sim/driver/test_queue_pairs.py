import asyncio
from dataclasses import replace

import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.rows import Table
from mrcnic.sim.driver.attributes import Carrier, QpAttributes
from mrcnic.sim.driver.memory import MemoryRegions
from mrcnic.sim.driver.nic import Nic
from mrcnic.sim.driver.profiles import Ev, Profiles, ProfileState, spread_evs
from mrcnic.sim.driver.qp import QueuePairs
from mrcnic.sim.driver.queues import SendQueue
from mrcnic.sim.driver.twin import RegisterTwin

CONFIG = PRESETS["sim"]
ROUTE = Carrier(block=0x5F00_0001, usids=[0x0401, 0x0800, 0x0402, 0x0C05], uplink=1)
GOOD = QpAttributes(
    qpn=0x12, remote_qpn=0x34, destination=0x2001_0DB8_000B << 80 | 1, carrier=ROUTE, profile=3
)


def run(test):
    async def whole():
        twin = RegisterTwin(CONFIG)
        nic = await Nic.open(twin)
        profiles = Profiles(nic)
        await test(nic, profiles, QueuePairs(nic, profiles))

    asyncio.run(whole())


async def fill(profiles, profile=3):
    await profiles.write(profile, spread_evs(CONFIG, uplinks=[1, 2]))


def test_row_of_a_queue_pair():
    async def test(nic, profiles, pairs):
        await fill(profiles)
        pair = await pairs.create(replace(GOOD, tx_psn=0x105, mtu=1024))
        assert pair.index == 2
        row = await nic.read_row(Table.QP, 2)
        assert row["active"] == row["srv6"] == row["trim_nack"] == 1
        assert row["carrier"] == 0x5F00_0001_0401_0800_0402_0C05 << 32
        assert row["plane_slots"] == 0b1111
        assert row["uplink_slots"] == 0b0010
        assert row["mtu_code"] == 2
        assert (row["qpn"], row["remote_qpn"], row["tx_psn"]) == (0x12, 0x34, 0x105)
        assert (row["timeout"], row["linear_count"], row["exponential_count"]) == (6, 7, 7)
        assert row["mpr"] == CONFIG.window // 128  # the peer has more, the NIC has not

    run(test)


def test_plain_ipv6():
    async def test(nic, profiles, pairs):
        await fill(profiles)
        await pairs.create(replace(GOOD, carrier=None))
        row = await nic.read_row(Table.QP, 2)
        assert (row["srv6"], row["carrier"], row["plane_slots"]) == (0, 0, 0)

    run(test)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qpn": 2}, "qpn must not be 0x2, which is reserved"),
        ({"remote_qpn": 0xFFFFFF}, "remote_qpn must not be 0xffffff, which is reserved"),
        ({"qpn": 1 << 24}, "qpn must be from 0 to 16777215, not 16777216"),
        ({"profile": 16}, "profile must be from 0 to 15, not 16"),
        ({"mtu": 1500}, "mtu must be a power of two from 256 to 4096, not 1500"),
        ({"mpr": 256}, "mpr must be from 1 to 255, not 256"),
        ({"timeout": 20}, "timeout must be from 0 to 19, not 20"),
        ({"exponential_count": 26}, "exponential_count must be from 0 to 25, not 26"),
        ({"linear_count": 8}, "linear_count must be from 0 to 7, not 8"),
        ({"max_immediates": 129}, "max_immediates must be from 1 to 128, not 129"),
        ({"cwnd": 4095}, "cwnd must be from 4096 to 33554431, not 4095"),
        ({"tx_psn": -1}, "tx_psn must be from 0 to 16777215, not -1"),
        ({"domain": 65536}, "domain must be from 0 to 65535, not 65536"),
        ({"destination": 0}, f"destination must be from 1 to {2**128 - 1}, not 0"),
        ({"profile": 4}, "profile 4 must be written before a QP uses it"),
    ],
)
def test_impossible_attributes_are_refused_and_nothing_is_written(change, message):
    async def test(nic, profiles, pairs):
        await fill(profiles)
        with pytest.raises(ValueError) as error:
            await pairs.create(replace(GOOD, **change))
        assert str(error.value) == message
        assert not any(table == Table.QP for table, _ in nic._bus.rows)

    run(test)


def test_six_usids_fit_and_seven_do_not():
    """B019: what does not fit is refused before anything is written."""
    usids = [0x0401, 0x0800, 0x0402, 0x0802, 0x0403, 0x0C05]
    full = Carrier(block=0x5F00_0001, usids=usids, uplink=1)
    assert full.fields["carrier"] == 0x5F00_0001_0401_0800_0402_0802_0403_0C05
    assert full.fields["plane_slots"] == 0b111111
    with pytest.raises(ValueError, match=r"^a carrier must have from 1 to 6 uSIDs, not 7$"):
        Carrier(block=0x5F00_0001, usids=[*usids, 0x0C06])


@pytest.mark.parametrize(
    ("usids", "uplink", "message"),
    [
        ([], None, "a carrier must have from 1 to 6 uSIDs, not 0"),
        ([0x0401, 0], None, "a uSID must be from 1 to 65535, not 0"),
        ([0x2401], None, "the plane of a uSID must be left 0, not 0x2401"),
        ([0x0401], 1, "uplink must be from 0 to 0, not 1"),
        ([0x0401, 0x0802], 1, "the index of the uSID with the uplink must be left 0, not 0x0802"),
    ],
)
def test_carriers_are_templates(usids, uplink, message):
    with pytest.raises(ValueError) as error:
        Carrier(block=0, usids=usids, uplink=uplink)
    assert str(error.value) == message


def test_a_profile_stays_while_a_queue_pair_uses_it():
    """B022: two QPs share a profile; the first one's end leaves it to the second."""

    async def test(nic, profiles, pairs):
        await fill(profiles)
        before = dict(nic._bus.rows)
        first = await pairs.create(GOOD)
        second = await pairs.create(replace(GOOD, qpn=0x13))
        await pairs.destroy(first)
        assert (await nic.read_row(Table.QP, 2))["active"] == 0
        assert (await nic.read_row(Table.QP, 3))["active"] == 1
        assert all(nic._bus.rows[place] == row for place, row in before.items())
        for change in (profiles.clear(3), fill(profiles)):
            with pytest.raises(ValueError, match="must not be changed while 1 QPs use it"):
                await change
        await pairs.destroy(second)
        await profiles.clear(3)
        assert (await nic.read_row(Table.EV, 3 * 64))["valid"] == 0
        with pytest.raises(ValueError, match=r"^there is no such QP at index 3$"):
            await pairs.destroy(second)

    run(test)


def test_own_usid_lives_apart_from_tables():
    """B023: what the NIC is does not go when routes go."""

    async def test(nic, profiles, pairs):
        await nic.write("block", 0x5F00_0001)
        await nic.write("port1_usid", 0x2C05)
        await fill(profiles)
        pair = await pairs.create(GOOD)
        await pairs.destroy(pair)
        await profiles.clear(3)
        assert await nic.read("block") == 0x5F00_0001
        assert await nic.read("port1_usid") == 0x2C05

    run(test)


def test_two_queue_pairs_cannot_have_one_index():
    async def test(nic, profiles, pairs):
        await fill(profiles)
        await pairs.create(GOOD)
        with pytest.raises(ValueError, match=r"^qpn 0x22 must not share index 2 with qpn 0x12$"):
            await pairs.create(replace(GOOD, qpn=0x22))

    run(test)


def test_evs_are_spread_over_planes_and_uplinks():
    planes = spread_evs(CONFIG, uplinks=[1, 3], backups=8)
    assert [len(evs) for evs in planes] == [32, 32]
    assert planes[0][0] == Ev(ev=0xC000_0010)
    assert planes[1][1] == Ev(ev=0xC021_1030)
    assert [ev.active for ev in planes[1]] == [True] * 24 + [False] * 8


def test_profiles_are_written_by_plane():
    async def test(nic, profiles, pairs):
        await profiles.write(1, [[Ev(ev=5), Ev(ev=6, active=False)], [Ev(ev=7)]])
        rows = {n: await nic.read_row(Table.EV, 64 + n) for n in (0, 1, 2, 32, 33)}
        assert [row["ev"] for row in rows.values()] == [5, 6, 0, 7, 0]
        assert [row["valid"] for row in rows.values()] == [1, 1, 0, 1, 0]
        assert [row["active"] for row in rows.values()] == [1, 0, 0, 1, 0]

    run(test)


@pytest.mark.parametrize(
    ("profile", "planes", "message"),
    [
        (16, [[], []], "profile must be from 0 to 15, not 16"),
        (0, [[Ev(ev=1)]], "a profile must have 2 planes, not 1"),
        (0, [[Ev(ev=1)] * 33, []], "plane 0 of a profile must have 32 EVs at most, not 33"),
        (0, [[Ev(ev=1 << 32)], []], "an EV must be from 0 to 0xffffffff, not 0x100000000"),
        (0, [[Ev(ev=1, active=False)], []], "a profile must have an active EV"),
    ],
)
def test_impossible_profiles_are_refused(profile, planes, message):
    async def test(nic, profiles, pairs):
        with pytest.raises(ValueError) as error:
            await profiles.write(profile, planes)
        assert str(error.value) == message
        assert nic._bus.rows == {}

    run(test)


@pytest.mark.parametrize("min_active", [-1, 2])
def test_no_more_evs_can_be_kept_active_than_there_are(min_active):
    async def test(nic, profiles, pairs):
        with pytest.raises(ValueError, match=r"^min_active must be from 0 to 1, the EVs of a pl"):
            await profiles.write(0, [[Ev(ev=1)], [Ev(ev=2)] * 3], min_active=min_active)
        assert nic._bus.rows == {}

    run(test)


def test_life_of_a_profile():
    async def test(nic, profiles, pairs):
        assert profiles.state(3) is ProfileState.INIT
        for change in (profiles.online, profiles.offline, profiles.hold):
            with pytest.raises(
                ValueError, match=r"^profile 3 must be written before a QP uses it$"
            ):
                change(3)
        await profiles.write(3, [[Ev(ev=5), Ev(ev=6)], [Ev(ev=7)]], min_active=1)
        assert (await nic.read_row(Table.PROFILE, 3))["min_active"] == 1
        assert profiles.state(3) is ProfileState.ONLINE
        profiles.offline(3)
        assert profiles.state(3) is ProfileState.OFFLINE
        with pytest.raises(ValueError, match=r"^profile 3 must be online before a QP uses it$"):
            profiles.hold(3)
        profiles.online(3)
        profiles.hold(3)
        with pytest.raises(ValueError, match=r"^profile 3 must not be changed while 1 QPs use it$"):
            profiles.offline(3)
        # An EV may be replaced all the same.
        await profiles.replace(3, 1, Ev(ev=8, active=False))
        row = await nic.read_row(Table.EV, 3 * 64 + 1)
        assert row == {"valid": 1, "active": 0, "ev": 8}
        for place in (2, 33, 64):
            with pytest.raises(ValueError, match=f"^profile 3 must have an EV {place}, to be repl"):
                await profiles.replace(3, place, Ev(ev=9))
        await profiles.replace(3, 32, Ev(ev=9, active=False))
        with pytest.raises(ValueError, match=r"^a profile must have an active EV$"):
            await profiles.replace(3, 0, Ev(ev=9, active=False))

    run(test)


def test_memory_regions():
    async def test(nic, profiles, pairs):
        regions = MemoryRegions(nic)
        first = await regions.register(base=0x1000, octets=1 << 40, domain=7)
        row = await nic.read_row(Table.REGION, first.rkey % CONFIG.regions)
        assert row == {
            "valid": 1,
            "remote_write": 1,
            "rkey": first.rkey,
            "base": 0x1000,
            "octets": 1 << 40,
            "domain": 7,
        }
        others = [
            await regions.register(base=n << 12, octets=4096) for n in range(CONFIG.regions - 1)
        ]
        with pytest.raises(ValueError, match=r"^there must be 64 regions at most$"):
            await regions.register(base=0, octets=1)
        await regions.deregister(first)
        assert (await nic.read_row(Table.REGION, first.rkey % CONFIG.regions))["valid"] == 0
        again = await regions.register(base=0, octets=1)
        assert again.rkey % CONFIG.regions == first.rkey % CONFIG.regions
        assert again.rkey not in {first.rkey, *(region.rkey for region in others)}
        with pytest.raises(ValueError, match="there is no region with rkey"):
            await regions.deregister(first)
        for bad in ({"base": 0, "octets": 0}, {"base": (1 << 64) - 1, "octets": 2}):
            with pytest.raises(ValueError, match=r"^a region must have octets"):
                await regions.register(**bad)

    run(test)


def test_send_queue_keeps_order_and_depth():
    queue = SendQueue(5, mtu=4096, depth=2)
    first = queue.post(local_address=1, remote_address=2, rkey=3, octets=4)
    second = queue.post(local_address=1, remote_address=2, rkey=3, octets=4, immediate=0)
    assert (first.qp, first.identifier, first.with_immediate) == (5, 0, 0)
    assert (second.identifier, second.with_immediate, second.immediate) == (1, 1, 0)
    assert not queue.has_room
    with pytest.raises(ValueError, match=r"^there must be 2 requests under way at most$"):
        queue.post(local_address=1, remote_address=2, rkey=3, octets=4)
    with pytest.raises(ValueError, match=r"^request 0 must end before 1$"):
        queue.complete(1)
    assert queue.complete(0) is first
    assert queue.complete(1) is second
    with pytest.raises(ValueError, match=r"^no request is under way, so 2 cannot have ended$"):
        queue.complete(2)


@pytest.mark.parametrize(
    ("mtu", "octets", "is_possible"),
    [
        (4096, 1, True),
        (4096, 65536, True),
        (4096, 2**32 - 1, True),
        (256, 2**31 - 256, True),
        (256, 2**31 - 255, False),
        (256, 2**32 - 1, False),  # 16,777,216 packets: more than half of the PSNs (B049)
        (4096, 0, False),
        (4096, 2**32, False),
    ],
)
def test_lengths_of_messages(mtu, octets, is_possible):
    queue = SendQueue(0, mtu=mtu, depth=1)
    if is_possible:
        request = queue.post(local_address=0, remote_address=0, rkey=0, octets=octets)
        assert request.octets == octets
    else:
        with pytest.raises(ValueError):
            queue.post(local_address=0, remote_address=0, rkey=0, octets=octets)
        assert queue.has_room

import random
from itertools import pairwise

import pytest
from retransmit_world import TICK_CYCLES, World

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.wire.opcodes import NackReason, Role

SMALL = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2, lanes=1, evs=16)
TWO = SMALL.override(lanes=2)
THREE = SMALL.override(lanes=3, evs=15)


def lap(world):
    return world.config.slots


def all_retired(count):
    return lambda world: len(world.retired) == count and not world.queues.get("allocate")


def sends(world, what="send"):
    return [(entry[2], entry[3]) for entry in world.happened(what)]


@pytest.mark.parametrize("config", [SMALL, TWO, THREE], ids=lambda c: f"{c.lanes} lanes")
def test_packets_go_out_and_retire(config):
    world = World(config)
    world.create(0, 0xFFFFF0)  # wraps
    world.create(1, 5)
    rng = random.Random(1)
    keys = []
    for n in range(24):
        qp = n % 3 == 0
        keys.append((int(qp), world.allocate(int(qp), rng.randint(1, 256))))
    world.run(6_000, until=all_retired(24))
    assert sorted(sends(world)) == sorted(keys)
    assert not world.happened("resend")
    assert all(world.retired[key] == 1 for key in keys)
    assert world.occupied == 0


def times(world, what, key=None):
    return [
        entry[0]
        for entry in world.happened(what)
        if key is None or tuple(entry[2 : 2 + len(key)]) == key
    ]


def stay(world, count):
    """Let ``count`` packets of QP 0 be sent and not answered; PSN 0x100 is the first."""
    world.answer = False
    world.create(0, 0x100)
    for _ in range(count):
        world.allocate(0, 100)


def on_wire(world, count):
    return len(world.happened("wire")) == count


def when(world, condition, function):
    """Call ``function`` in the first cycle in which ``condition(world)`` is true."""

    def look():
        if condition(world):
            function()
        else:
            world.after(1, look)

    world.after(1, look)


def test_a_hole_is_resent_once_and_its_ev_reported():
    world = World(SMALL)
    lost = {(0, 0x103)}
    world.lose = lambda key: key in lost and not lost.discard(key)
    world.create(0, 0x100)
    for _ in range(12):
        world.allocate(0, 64)
    world.run(4_000, until=all_retired(12))
    assert sends(world, "resend") == [(0, 0x103)]
    (first,) = [entry for entry in world.happened("send") if entry[3] == 0x103]
    (event,) = world.happened("ev")
    assert event[2:4] == (0, first[4])
    # 1.25 round trips and the target delay, a tick more, and a lap and its pipeline.
    threshold = (30 + 7 + 10 + 1) * TICK_CYCLES
    assert threshold <= times(world, "resend")[0] - first[0] <= threshold + lap(world) + 20


def test_reordering_within_the_time_is_no_loss():  # B074
    world = World(TWO, base_rtt=60)
    delays = iter([200, 30] * 30)
    world.delay = lambda: next(delays, 30)
    world.create(0, 0xFFFFFE)  # B070
    for _ in range(40):
        world.allocate(0, 64)
    world.run(6_000, until=all_retired(40))
    assert not world.happened("resend")
    assert not world.happened("ev")


def test_nack_of_a_trimmed_packet_is_resent_at_once():  # B064
    world = World(SMALL)
    stay(world, 1)
    when(world, lambda w: on_wire(w, 1), lambda: world.nack(0, 0x100, NackReason.TRIMMED))
    world.run(2_000, until=lambda w: w.happened("resend"))
    assert times(world, "resend")[0] - times(world, "nack")[0] <= 2 * lap(world) + 20
    assert not world.happened("ev")


def test_a_late_acknowledgement_cancels_a_queued_resend():  # B061, B062
    world = World(SMALL)
    stay(world, 5)

    def refuse():
        world.sending = False
        for psn in (0x100, 0x102, 0x104):
            world.nack(0, psn, NackReason.TRIMMED)
        # One resend is offered already, and stays; the others are looked at again.
        world.after(60, lambda: world.acknowledge(0, 0x0FF, 0x100, 0b00101))
        world.after(80, lambda: setattr(world, "sending", True))

    when(world, lambda w: on_wire(w, 5), refuse)
    world.run(400, until=lambda w: w.cycle > 350)
    resent = sends(world, "resend")
    assert len(resent) == 2
    assert (0, 0x104) in resent
    assert len(times(world, "event", ("resend_declined",))) == 1
    first, second = times(world, "resend")
    assert second - first <= 4
    assert world.retired[0, 0x100] == world.retired[0, 0x102] == 1


@pytest.mark.parametrize("reason", [NackReason.NO_BUFFER, NackReason.NO_BITMAP])
def test_refused_for_room_waits_a_round_trip_and_gives_up(reason):  # B055
    world = World(SMALL, timeout=3, linear=2, exponential=2)
    world.create(0, 0x100)
    world.refuse = lambda key: reason
    world.allocate(0, 64)
    world.run(8_000, until=lambda w: w.happened("failed"))
    gaps = times(world, "resend")
    assert all(later - before >= 30 * TICK_CYCLES for before, later in pairwise(gaps))
    assert world.happened("failed")[0][2:] == (0, Status.RETRY_EXCEEDED)
    world_after = len(gaps)
    assert world_after >= 3
    assert not world.happened("ev")


def test_three_refusals_do_no_harm():  # B055
    world = World(SMALL, timeout=3, linear=2, exponential=2)
    world.create(0, 0x100)
    count = iter(range(100))
    world.refuse = lambda key: NackReason.NO_BUFFER if next(count) < 3 else None
    world.allocate(0, 64)
    world.run(4_000, until=all_retired(1))
    assert not world.happened("failed")


def test_many_refusals_at_once_are_one_charge():
    world = World(SMALL, timeout=4, linear=1, exponential=1)  # fails at the second charge
    stay(world, 6)

    def refuse():
        for psn in range(0x100, 0x106):
            world.nack(0, psn, NackReason.NO_BUFFER)

    when(world, lambda w: on_wire(w, 6), refuse)
    world.run(1_000, until=lambda w: len(w.happened("resend")) == 6)
    assert not world.happened("failed")


def test_beyond_the_window_waits_for_cack():
    world = World(SMALL, timeout=6)
    stay(world, 2)

    def refuse():
        world.nack(0, 0x101, NackReason.OUT_OF_WINDOW)
        world.after(300, lambda: world.acknowledge(0, 0x100))

    when(world, lambda w: on_wire(w, 2), refuse)
    world.run(2_000, until=lambda w: w.happened("resend"))
    assert sends(world, "resend") == [(0, 0x101)]
    (moved,) = times(world, "ack", (0, 0x100))
    assert 0 <= times(world, "resend")[0] - moved <= 2 * lap(world) + 20


def test_unexpected_event_fails_the_qp_once():
    world = World(SMALL)
    stay(world, 4)

    def refuse():
        world.sending = False
        for psn in (0x101, 0x102, 0x103):
            world.nack(0, psn, NackReason.UNEXPECTED)

    when(world, lambda w: on_wire(w, 4), refuse)
    world.run(1_500, until=lambda w: w.cycle > 700)
    assert [entry[2:] for entry in world.happened("failed")] == [(0, Status.REMOTE_ERROR)]
    assert world.occupied == 0
    assert not world.retired


def test_nack_of_a_stranger_is_counted():
    world = World(SMALL)
    stay(world, 1)
    when(world, lambda w: on_wire(w, 1), lambda: world.nack(0, 0x177, NackReason.TRIMMED))
    world.run(300, until=lambda w: w.happened("event"))
    assert world.happened("event")[0][2] == "nack_stranger"
    assert not world.happened("resend")


def test_tail_loss_is_found_by_a_probe():  # B082
    world = World(SMALL, timeout=10)
    lost = {(0, 0x100)}
    world.lose = lambda key: key in lost and not lost.discard(key)
    world.create(0, 0x100)
    world.allocate(0, 64)
    world.run(3_000, until=all_retired(1))
    (sent,), (probe,) = times(world, "send"), times(world, "probe")
    quiet = (45 + 1) * TICK_CYCLES
    assert quiet <= probe - sent <= quiet + lap(world) + 20
    assert world.happened("probe")[0][4] == world.happened("send")[0][4], "avoid the last EV"
    assert sends(world, "resend") == [(0, 0x100)]
    assert not world.happened("failed")
    assert times(world, "resend")[0] - sent <= 2.5 * 30 * TICK_CYCLES + 2 * lap(world) + 60


def test_one_probe_at_a_time():  # B133
    world = World(SMALL, timeout=6)  # 512 ticks
    stay(world, 3)
    world.run(6_000, until=lambda w: len(w.happened("probe")) == 2)
    first, second = times(world, "probe")
    assert second - first >= 512 * TICK_CYCLES
    assert {entry[3] for entry in world.happened("probe")} == {0x0100, 0x0200}


def test_time_outs_double_and_end():  # B056, B073
    world = World(SMALL, timeout=3, linear=2, exponential=2)  # 64 ticks
    stay(world, 3)
    for n in range(200):
        world.after(100 + 10 * n, lambda: world.acknowledge(0, 0x0FF))  # duplicates of no use
    world.run(6_000, until=lambda w: w.happened("failed"))
    assert set(sends(world, "resend")) == {(0, 0x100)}, "only the oldest, with no news at all"
    gaps = [
        (after - before) / TICK_CYCLES
        for before, after in zip(
            times(world, "send", (0, 0x100)) + times(world, "resend"),
            times(world, "resend") + times(world, "failed"),
            strict=True,
        )
    ]
    assert [round(gap / 64) for gap in gaps] == [1, 1, 2, 4]
    assert not world.happened("ev"), "no EV is to blame while the way back may be cut"
    assert world.happened("failed")[0][2:] == (0, Status.RETRY_EXCEEDED)


def test_for_ever_means_for_ever():  # B056
    world = World(SMALL, timeout=0, linear=0, exponential=25)
    stay(world, 1)
    world.run(3_000)
    assert not world.happened("failed")
    assert 4 <= len(world.happened("resend")) <= 8


def test_time_out_with_news_blames_the_ev():
    world = World(SMALL, timeout=3, reorder=200)
    lost = {(0, 0x101)}
    world.lose = lambda key: (key in lost and not lost.discard(key)) or key[0] == "probe"
    world.create(0, 0x100)
    for _ in range(4):
        world.allocate(0, 64)
    world.run(4_000, until=all_retired(4))
    assert sends(world, "resend") == [(0, 0x101)]
    assert len(world.happened("ev")) == 1
    assert times(world, "event", ("resend_timeout",))


def test_everything_acknowledged_during_a_resend():  # B071, B067
    world = World(SMALL, timeout=3)
    stay(world, 16)

    def answer():
        world.acknowledge(0, 0x10F)
        world.acknowledge(0, 0x0F0)  # stale: nothing rewinds

    when(world, lambda w: w.happened("resend"), answer)
    world.run(4_000, until=all_retired(16))
    (acked,) = times(world, "ack", (0, 0x10F))
    assert world.cycle - acked <= 3 * lap(world) + 60
    assert world.occupied <= 1


def test_a_full_buffer_holds_up_and_keeps_its_payload():  # B058, B121
    world = World(SMALL, timeout=3)
    stay(world, 24)
    world.after(1_200, lambda: setattr(world, "answer", True))
    world.run(8_000, until=all_retired(24))
    first = [entry for entry in world.happened("allocated") if entry[0] < 1_200]
    assert len(first) == 16
    assert world.happened("resend")  # whose payload the world compares


def test_port_down_resends_without_blame():
    world = World(TWO, timeout=10)
    world.create(0, 0x100)

    def lose(key):
        path = [entry[4] for entry in world.log if entry[1] == "send" and entry[2:4] == key]
        return key[0] != "probe" and path[-1] >= 8 and world.up == 0b11

    world.lose = lose
    for _ in range(8):
        world.allocate(0, 64)
    when(world, lambda w: on_wire(w, 8), lambda: setattr(world, "up", 0b01))
    world.run(4_000, until=all_retired(8))
    gone = {entry[2:4] for entry in world.happened("lost")}
    assert gone
    assert set(sends(world, "resend")) == gone
    assert len(times(world, "event", ("resend_port",))) == len(gone)
    assert all(entry[4] < 8 for entry in world.happened("resend"))
    assert not world.happened("ev")


def test_all_ports_down_for_ever_fails_the_qp():
    world = World(TWO, timeout=3, linear=1, exponential=2)
    stay(world, 4)
    when(world, lambda w: on_wire(w, 4), lambda: setattr(world, "up", 0))
    world.run(6_000, until=lambda w: w.happened("failed"), settle=200)
    assert set(sends(world, "resend")) == {(0, 0x100)}, "it is of no use for the others"
    assert not times(world, "event", ("resend_port",))
    assert not world.happened("ev")
    assert [entry[2:] for entry in world.happened("failed")] == [(0, Status.RETRY_EXCEEDED)]
    assert world.occupied == 0


def test_all_ports_down_and_one_up_again():
    """What was sent before is sent again at once, by whichever port it had left."""
    world = World(TWO, timeout=10)
    world.create(0, 0x100)
    world.lose = lambda key: world.up == 0
    world.up = 0
    for _ in range(8):
        world.allocate(0, 64)
    world.after(1_000, lambda: setattr(world, "up", 0b01))
    world.run(2_000, until=all_retired(8))
    assert min(times(world, "resend")) > 1_000
    assert len(times(world, "event", ("resend_port",))) == 8
    assert not world.happened("ev")


def test_a_port_that_was_down_for_less_than_a_round_trip():
    """What was lost there is no news of its EV."""
    world = World(TWO, timeout=10, base_rtt=60)
    world.create(0, 0x100)
    lost = set()

    def lose(key):
        path = [entry[4] for entry in world.log if entry[1] == "send" and entry[2:4] == key]
        if len(lost) < 2 and key[0] != "probe" and path[-1] >= 8:
            lost.add(key)
            return True
        return False

    def flap():
        world.up = 0b01
        world.after(40, lambda: setattr(world, "up", 0b11))
        for _ in range(8):
            world.allocate(0, 64)

    world.lose = lose
    for _ in range(4):
        world.allocate(0, 64)
    when(world, lambda w: on_wire(w, 4), flap)
    world.run(4_000, until=all_retired(12))
    assert lost
    assert set(sends(world, "resend")) == lost
    assert not times(world, "event", ("resend_hole",))
    assert not world.happened("ev")


def test_unreadable_memory_fails_the_qp():
    world = World(SMALL)
    world.create(0, 0x100)
    world.create(1, 0x100)
    world.fetch_error = lambda address: address >> 40 == 0 and (address >> 12) & 0xFFF == 0x102
    for _ in range(5):
        world.allocate(0, 64)
        world.allocate(1, 64)
    world.run(3_000, until=lambda w: sum(w.retired.values()) >= 5 and w.cycle > 1_500)
    assert [entry[2:] for entry in world.happened("failed")] == [(0, Status.LOCAL_ERROR)]
    assert (0, 0x102) not in sends(world)
    assert all(world.retired[1, psn] for psn in range(0x100, 0x105))
    assert world.occupied == 0


def test_a_stopped_qp_lets_go_and_starts_afresh():
    world = World(SMALL)
    stay(world, 10)
    world.lose = lambda key: not world.answer  # nothing of the first life arrives

    def stop():
        world.put("stopped", {"qp": 0})
        world.create(0, 0x100)

    def start():
        world.answer = True
        for _ in range(6):
            world.allocate(0, 200)

    when(world, lambda w: on_wire(w, 3), stop)
    when(world, lambda w: len(w.happened("table")) == 2, start)
    world.run(6_000, until=lambda w: len(w.happened("retired")) == 6)
    assert world.occupied == 0
    assert len(world.happened("table")) == 2
    assert not world.happened("failed")


def test_message_sizes():  # B046, B047
    world = World(SMALL)
    world.create(0, 0x100)
    lost = {(0, 0x101)}
    world.lose = lambda key: key in lost and not lost.discard(key)
    sizes = [256, 1, 256, 8, 256, 7, 256, 9, 256, 255]
    for octets in sizes:
        world.allocate(0, octets)
    world.run(4_000, until=all_retired(10))
    assert sends(world, "resend") == [(0, 0x101)]
    assert sum(entry[3] for entry in world.happened("retired")) == sum(sizes)


def test_roles_of_resends():
    world = World(SMALL)
    stay(world, 0)
    world.allocate(0, 64, role=Role.NO_TRIM)
    world.allocate(0, 64, role=Role.TRIMMABLE)
    when(world, lambda w: on_wire(w, 2), lambda: [world.nack(0, psn, 1) for psn in (0x100, 0x101)])
    world.run(2_000, until=lambda w: len(w.happened("resend")) == 2)  # the world checks the roles

"""The model of a MAC's status shows what happens to a cable when a MAC would."""

from mrcnic.sim.bench.mac_status import DELAYS, MacStatusModel

ALL = (1 << 20) - 1


def test_rs_fec_tells_after_three_code_words_and_comes_back_after_two_markers():
    mac = MacStatusModel()
    mac.at(0)
    mac.cut(1_000_000)
    assert mac.at(1_153_999).fec_lock == 1
    pins = mac.at(1_154_000)
    assert (pins.fec_lock, pins.aligned, pins.local_fault) == (0, 0, 0)
    assert mac.at(1_204_000).local_fault == 1
    assert mac.settled
    mac.mend(2_000_000)
    back = 2_000_000 + DELAYS.good_headers + 2 * DELAYS.markers
    assert mac.at(back - 1).aligned == 0
    assert mac.at(back).aligned == mac.at(back).fec_lock == 1
    assert mac.at(back).local_fault == 1
    assert mac.at(back + DELAYS.local_fault).local_fault == 0


def test_without_rs_fec_lanes_lose_their_lock_one_after_the_other():
    mac = MacStatusModel(rs_fec=False)
    mac.cut(0)
    assert mac.at(DELAYS.first_lane - 1).block_lock == ALL
    assert mac.at(DELAYS.first_lane).block_lock == ALL - 1
    assert mac.at(DELAYS.first_lane).aligned == 0
    assert 0 < mac.at(DELAYS.last_lane - 1).block_lock < ALL
    assert mac.at(DELAYS.last_lane).block_lock == 0


def test_a_mend_before_the_loss_is_seen_leaves_nothing_behind():
    mac = MacStatusModel()
    mac.cut(0)
    mac.mend(100_000)
    for time_ps in range(0, 2_000_000, 100_000):
        pins = mac.at(time_ps)
        assert (pins.aligned, pins.local_fault, pins.fec_lock) == (1, 0, 1)


def test_the_other_end_tells_of_its_fault():
    mac = MacStatusModel()
    mac.cut_other_direction(0)
    told = DELAYS.code_words + DELAYS.local_fault + DELAYS.remote_fault
    assert mac.at(told - 1).remote_fault == 0
    pins = mac.at(told)
    assert (pins.remote_fault, pins.aligned, pins.local_fault) == (1, 1, 0)


def test_a_clock_that_stops_freezes_all_pins():
    mac = MacStatusModel(heartbeat_ps=1000)
    beats = [mac.at(n * 1000).heartbeat for n in range(6)]
    assert beats == [1, 0] * 3
    mac.stop_clock(6000)
    mac.cut(6000)
    mac.corrupt(5)
    frozen = mac.at(6000)
    assert mac.at(10_000_000) == frozen
    mac.start_clock(10_000_000)
    assert mac.at(10_000_000).aligned == 0


def test_errors_are_counted_in_gray_code():
    mac = MacStatusModel()
    mac.corrupt(20)
    before = 0
    for n in range(20):
        pins = mac.at(n)
        assert (pins.symbol_errors ^ before).bit_count() == 1
        before = pins.symbol_errors
    assert mac.settled
    assert mac.at(20).symbol_errors == before
    mac.corrupt(0, uncorrected=True)
    assert mac.at(21).uncorrected == 1

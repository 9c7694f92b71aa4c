import pytest
from scenario_logs import bad, good, log, lost, probe, write

from mrcnic.sim.bench.packet_log import PacketRecord
from mrcnic.sim.scenarios.history import History
from mrcnic.sim.scenarios.judging import (
    HOLD_OFF_US,
    LIMIT_LAST_US,
    LIMIT_LOAD_US,
    judge_blame,
    judge_repair,
    judge_return,
    judge_shares,
)
from mrcnic.sim.scenarios.ports import Outage, judge_local_port, judge_remote_port
from mrcnic.sim.scenarios.scenario import CONFIG, Finding, Plan, shortened
from mrcnic.sim.scenarios.transfer import TransferSpec

PLAN = Plan(spec=TransferSpec(config=CONFIG, size=1), evs=frozenset({4}), down_us=5.0, up_us=60.0)


def missed(findings):
    return [finding.what for finding in findings if not finding.good]


def busy(first, last, *, step=1):
    """Writes of QP 0 all the time, on another EV."""
    return [write(n, 1000 + n, 40) for n in range(first, last, step)]


def test_limits():
    assert Finding(what="", value=None).good
    assert not Finding(what="", value=None, most=1).good
    assert Finding(what="", value=1.0, most=1.0).good
    assert not Finding(what="", value=1.1, most=1.0).good
    assert not Finding(what="", value=2, least=3).good


def test_an_ev_that_goes_out_of_use_in_time_under_load():
    history = History(log(lost(10, 1, 4), bad(9.9 + LIMIT_LOAD_US, 4), *busy(0, 60)))
    assert missed(judge_blame(PLAN, history)) == []


def test_one_that_does_so_too_late():
    history = History(log(lost(10, 1, 4), bad(10.1 + LIMIT_LOAD_US, 4), *busy(0, 60)))
    assert missed(judge_blame(PLAN, history)) == ["first loss to EV out of use, under load"]


def test_a_last_packet_has_more_time():
    history = History(log(lost(10, 1, 4), bad(9.9 + LIMIT_LAST_US, 4), *busy(0, 10)))
    assert missed(judge_blame(PLAN, history)) == []
    history = History(log(lost(10, 1, 4), bad(10.1 + LIMIT_LAST_US, 4), *busy(0, 10)))
    assert missed(judge_blame(PLAN, history)) == ["first loss to EV out of use, last packet"]


def test_an_ev_that_is_used_though_it_is_dead():
    parts = [lost(10, 1, 4), bad(20, 4), lost(50, 2, 4), *busy(0, 60)]
    whats = missed(judge_blame(PLAN, History(log(*parts))))
    assert whats == ["last packet on an EV after its first loss"]


def test_nothing_that_was_met_is_no_experiment():
    assert "dead EVs that were met, in all QPs" in missed(judge_blame(PLAN, History(log())))


def test_what_is_never_repaired():
    assert missed(judge_repair(History(log(lost(10, 1, 4), write(20, 1, 5))))) == []
    assert missed(judge_repair(History(log(lost(10, 1, 4))))) == ["of these never repaired"]


def test_shares():
    uneven = [write(n, n, 32 * (n % 2) if n % 50 else 0) for n in range(1024)]
    (finding,) = judge_shares(History(log(*uneven)))
    assert not finding.good or finding.value == pytest.approx(0)
    fair = [write(n, n, 32 * (n % 2)) for n in range(1024)]
    (finding,) = judge_shares(History(log(*fair)))
    assert finding.good


def back(answers, *, again=False):
    parts = [lost(10, 1, 4), bad(20, 4), write(120, 3, 4)]
    parts += [probe(70 + 10 * n, 4, n + 2) for n in range(answers)]
    parts += [good(110, 4)]
    return History(log(*parts, *([lost(130, 4, 4)] if again else [])))


def test_an_ev_comes_back_after_three_answers():
    assert missed(judge_return(PLAN, back(3))) == []
    assert missed(judge_return(PLAN, back(2))) == ["good probes before an EV came back, at least"]
    assert missed(judge_return(PLAN, back(3, again=True))) == ["packets lost after the repair"]


def test_an_ev_that_stays_out():
    history = History(log(lost(10, 1, 4), bad(20, 4)))
    assert missed(judge_return(PLAN, history)) == [
        "EVs out of use at the end",
        "good probes before an EV came back, at least",
    ]


SIGNS = ((0.0, "a0", True), (10.0, "a0", False), (40.0, "a0", True), (0.0, "b0", True))


def port_log(*parts, proofs=3):
    loops = [
        PacketRecord(45 + n, "a0", "ENDPOINT_REQUEST", -1, n, 0, False, 0, 45 + n)
        for n in range(proofs)
    ]
    return History(log(*parts, {"arrived": loops}, signs=SIGNS))


def local(history):
    return judge_local_port(history, Outage(history, "a0", since_us=9, until_us=100))


def test_a_port_that_dies_and_comes_back():
    parts = [write(10.36, 1, 4), write(41 + HOLD_OFF_US, 2, 4)]
    assert missed(local(port_log(*parts))) == []


@pytest.mark.parametrize(
    ("parts", "proofs", "what"),
    [
        ([write(10.5, 1, 4)], 3, "a0: bad pin to the last frame that begins"),
        ([write(45.5, 1, 4)], 3, "a0: frames but probes to itself while held off"),
        ([lost(20, 1, 4)], 3, "a0: packets lost in its plane while held off"),
        ([], 2, "a0: probes to itself that came back before"),
    ],
)
def test_what_a_port_may_not_do(parts, proofs, what):
    history = port_log(*parts, write(60 + HOLD_OFF_US, 2, 4), proofs=proofs)
    assert what in missed(local(history))


def test_a_port_that_is_used_too_early():
    whats = missed(local(port_log(write(39 + HOLD_OFF_US, 2, 4))))
    assert "a0: good signs to the first packet" in whats


def test_a_port_that_never_told():
    history = History(log(signs=[(0.0, "a0", True)]))
    assert missed(local(history)) == ["a0: status pins told"]


def remote(*parts, notice_us=11.0):
    notice = PacketRecord(notice_us, "b1", "STATUS", -1, 1, 40, False, 0, notice_us)
    signs = ((0.0, "b0", True), (10.0, "b0", False), (140.0, "b0", True))
    history = History(log(write(9, 1, 4), *parts, {"sent": [notice]}, signs=signs))
    return missed(judge_remote_port(history, Outage(history, "b0", since_us=9, until_us=200)))


def test_a_port_of_the_peer():
    late = write(141 + HOLD_OFF_US, 9, 4)
    assert remote(write(20, 2, 4), late) == []
    assert remote(write(30, 2, 4), late) == ["b0: notice to the peer's last packet"]
    assert remote(write(120, 2, 4), late, notice_us=119.0) == [
        "b0: failure to the peer's last packet"
    ]
    assert remote(lost(30, 2, 4), late) == [
        "b0: notice to the peer's last packet",
        "b0: packets lost to it while held off",
    ]


def test_what_was_made_shorter_is_told():
    spec = TransferSpec(
        config=CONFIG, size=1, registers=(("hold_off", 78), ("base_rtt", 1)), timeout=4
    )
    assert shortened(spec) == [
        "hold_off 10.0 us, 1/1002 of the default",
        "RTO 16.4 us, 1/4 of the default",
    ]

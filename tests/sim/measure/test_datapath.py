"""Cycles of both lanes with beats of 64 octets; one more than there were fails."""

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.measure import datapath
from mrcnic.sim.measure.datapath import RUNS, Figure, measure_datapath
from mrcnic.sim.measure.lengths import line_mpps
from mrcnic.sim.report.datapath import datapath_problems, datapath_result, datapath_tables

CONFIG = NicConfig(qps=4, window=128, slots=16, mtu=1024, routes=0)

#: Latency at most, of each block of a run: any that grows with the frame's beats as a pair.
LATENCIES = {
    "egress": {"insert": 3, "ICRC make": 6, "egress lane": (12, 1)},
    "ingress": {"parse": 4, "decapsulate": 2, "ICRC check": 5, "ingress lane": 10},
    "pass out": {"pass out": (3, 1)},
    "pass in": {"pass in": 12},
}


@pytest.mark.parametrize("run", RUNS)
def test_cycles(run, monkeypatch):
    """No bubble at any length, and no cycle of latency more."""
    monkeypatch.setattr(datapath, "packet_lengths", lambda beat_octets, longest: [126, 130, 254])
    monkeypatch.setattr(datapath, "frame_lengths", lambda beat_octets: [60, 64, 65, 257])
    done = []
    figures = measure_datapath(CONFIG, runs=[run], progress=done.append)
    assert done == [run]
    assert {figure.block for figure in figures} == set(LATENCIES[run])
    for figure in figures:
        assert figure.cycles == figure.beats == -(-figure.octets // 64), figure
        most = LATENCIES[run][figure.block]
        if isinstance(most, tuple):
            most = most[0] + most[1] * figure.beats
        assert 0 < figure.latency <= most, figure
    result = datapath_result(figures, preset="100g", beat_octets=64)
    assert datapath_problems(result) == []
    assert len(datapath_tables(result)) == len(LATENCIES[run])


def test_what_misses_its_budget_is_told():
    figures = [
        Figure("insert", "SRv6", 122, 2, 4, 2.0),
        Figure("ICRC check", "IPv6", 82, 2, 6, 2.5),
        Figure("pass in", "other", 60, 1, 99, 1.0),
    ]
    result = datapath_result(figures, preset="100g", beat_octets=64)
    assert datapath_problems(result) == [
        "insert, SRv6, 122 octets: 4 cycles, more than 3",
        "ICRC check, IPv6, 82 octets: 2.5 cycles for 2 beats",
        "ICRC check, IPv6, 82 octets: 100.0 Mpps, less than the line's 117.9",
    ]
    # A lane that is narrow on purpose has no line of 100 Gb/s.
    narrow = datapath_result(figures, preset="tiny", beat_octets=8)
    assert datapath_problems(narrow) == ["ICRC check, IPv6, 82 octets: 2.5 cycles for 2 beats"]


def test_frames_of_64_octets_pass_at_line_rate():
    """With their check sequence they have 64."""
    result = datapath_result(
        [Figure("pass out", "other", 60, 1, 4, 1.0)], preset="100g", beat_octets=64
    )
    rate = result["figures"][0]["rates"][1]
    assert rate["clk_hz"] == 322_265_625
    assert rate["mpps"] > line_mpps(60) > 148.8

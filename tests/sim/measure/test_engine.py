"""Cycles of the engine with small tables; one more than there were fails."""

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.measure.engine import ENGINE_RUNS, EngineFigure, measure_engine
from mrcnic.sim.report.engine import engine_problems, engine_result, engine_tables

CONFIG = NicConfig(lanes=2, evs=16, qps=8, window=128, slots=128, mtu=1024, routes=0, regions=4)

#: Latency and cycles of each part, of one QP and of eight.
CYCLES = {
    "spray": {
        "pick": (8, 3, 1), "port down": (5,), "receive clock stops": (48,),
    },
    "requester": {"requester": (4, 3, 3), "SACK to requester": (6, 2, 2)},
    "retransmit": {"retransmit": (10, 2, 2), "SACK to scoreboard": (0, 2, 2)},
    "responder": {"responder": (9, 3, 3)},
}  # fmt: skip


@pytest.mark.parametrize("run", ENGINE_RUNS)
def test_cycles(run):
    done = []
    figures = measure_engine(CONFIG, runs=[run], progress=done.append)
    assert done == [run]
    assert {figure.engine for figure in figures} == set(CYCLES[run])
    for figure in figures:
        latency, *cycles = CYCLES[run][figure.engine]
        assert figure.latency <= latency, figure
        if cycles:
            assert figure.cycles <= cycles[figure.qps > 1], figure
    result = engine_result(figures, preset="sim")
    assert engine_problems(result) == []
    assert len(engine_tables(result)[0].rows) == len(figures)


def test_what_misses_its_limit_is_told():
    figures = [
        EngineFigure("pick", 1, 7, 3.5),
        EngineFigure("pick", 8, 7, 1.0),
        EngineFigure("port down", None, 17, None),
    ]
    assert engine_problems(engine_result(figures, preset="100g")) == [
        "pick, 1 QPs: 3.50 cycles each, more than 3",
        "port down: 17 cycles, more than 16",
    ]


def test_rates_are_those_of_the_clocks():
    (row,) = engine_result([EngineFigure("responder", 1, 9, 3.0)], preset="100g")["figures"]
    assert row["mpps"] == [pytest.approx(83.33, abs=0.01), pytest.approx(107.42, abs=0.01)]

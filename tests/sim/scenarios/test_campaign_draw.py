"""Runs are drawn as they are to be, and batches as they can be done again."""

import pytest

from mrcnic.sim.scenarios.campaign import RunReport, batches
from mrcnic.sim.scenarios.misadventure import draw_run


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_every_draw_can_be_run_and_is_the_same_again(preset, seed):
    kinds = set()
    for number in range(300):
        run = draw_run(preset, seed=seed, number=number)
        run.spec.check()
        assert run == draw_run(preset, seed=seed, number=number)
        kinds |= {name for name, value in vars(run.spec).items() if value}
        kinds |= {name for name in ("is_cut_off", "reset_cycles") if getattr(run, name)}
    assert kinds >= {
        "drop", "duplicate", "reorder", "corrupt", "trim", "mark", "drop_sacks", "failures",
        "stalls", "register_writes", "first_flight", "renewals", "spoiled",
        "immediates", "gap", "backups", "is_cut_off", "reset_cycles",
    }  # fmt: skip


def test_other_seeds_and_numbers_are_other_runs():
    runs = {str(draw_run("sim", seed=seed, number=n)) for seed in range(3) for n in range(3)}
    assert len(runs) == 9


def test_batches_cover_all_runs_and_presets_take_turns():
    work = batches(("sim", "tiny"), seed=3, first=7, runs=12, jobs=2)
    assert [(b.preset, b.first, b.runs) for b in work] == [
        ("sim", 7, 5),
        ("tiny", 12, 5),
        ("sim", 17, 2),
    ]


def test_few_runs_are_dealt_to_all_workers():
    assert [b.runs for b in batches(("sim",), seed=3, first=0, runs=4, jobs=2)] == [2, 2]


def test_replay_has_the_runs_before_it_in_its_simulator():
    report = RunReport(preset="sim", seed=9, number=13, first=11, problems=[], figures={})
    assert report.replay == (
        "mrcnic sim campaign --preset sim --seed 9 --first 11 --runs 3 --jobs 1"
    )
    (again,) = batches(("sim",), seed=9, first=11, runs=3, jobs=1)
    assert (again.first, again.runs) == (11, 3)

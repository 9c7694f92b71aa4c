"""Waveforms are kept if they are whole, whatever became of the run."""

import click
import pytest

from mrcnic.sim.cli.waveforms import is_whole_fst, trace_file


def block(kind, octets=20):
    return bytes([kind]) + (8 + octets).to_bytes(8, "big") + bytes(octets)


WHOLE = block(0, 321) + block(8) + block(2) + block(8) + block(3) + block(4)


@pytest.mark.parametrize(
    ("octets", "whole"),
    [
        (WHOLE, True),
        (block(0, 321) + block(5) + block(3) + block(6), True),
        (b"", False),
        (b"$date today $end", False),
        (WHOLE[:-1], False),
        (WHOLE + b"\0", False),
        (WHOLE + block(0)[:5], False),
        (WHOLE + b"\0" + bytes(8), False),
        (block(0, 321) + block(8) + block(3), False),
        (block(0, 321) + block(8) + block(4), False),
        (block(8) + block(3) + block(4), False),
        (block(0, 321) + block(255) + block(3) + block(4), False),
    ],
)
def test_whole_or_not(tmp_path, octets, whole):
    (tmp_path / "f").write_bytes(octets)
    assert is_whole_fst(tmp_path / "f") == whole


@pytest.mark.parametrize("error", [click.ClickException("failed"), SystemExit(130)])
@pytest.mark.parametrize("octets", [WHOLE, WHOLE[:-1]], ids=["whole", "cut"])
def test_kept_if_whole(tmp_path, error, octets):
    """A simulator leaves other files when it is killed; none of them stays."""
    wanted = tmp_path / "new" / "f.fst"
    raised = None
    try:
        with trace_file(wanted) as path:
            assert path.parent != wanted.parent
            path.write_bytes(octets)
            path.with_name("f.fst.hier").write_bytes(b"left")
            raise error
    except (click.ClickException, SystemExit) as caught:
        raised = caught
    assert raised is error
    assert list((tmp_path / "new").iterdir()) == ([wanted] if octets == WHOLE else [])


def test_nothing_was_written(tmp_path):
    (tmp_path / "f.fst").write_bytes(b"old")
    with (
        pytest.raises(click.ClickException, match=r"^the simulator has not finished f\.fst$"),
        trace_file(tmp_path / "f.fst"),
    ):
        pass
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f.fst", b"old")]


def test_written(tmp_path):
    (tmp_path / "f.fst").write_bytes(b"old")
    with trace_file(tmp_path / "f.fst") as path:
        path.write_bytes(WHOLE)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f.fst", WHOLE)]


def test_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(click.ClickException, match=r"^cannot write .*/file: "),
        trace_file(tmp_path / "file" / "f.fst"),
    ):
        pytest.fail("was run")

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from mrcnic.sim.cli import transfer
from mrcnic.sim.cli.main import cli
from mrcnic.sim.cli.options import parse_size
from mrcnic.sim.report.transfer import plot_transfer, problems, transfer_tables

GOOD = {
    "octets": 4 << 20,
    "messages": 64,
    "qps": 4,
    "packets": 1037,
    "packets_per_plane": [528, 509],
    "packets_per_ev": [264, 264, 0, 0, 500, 9, 0, 0],
    "control_packets": {"SACK": 300, "NACK": 0, "ACK": 64, "probe": 2, "endpoint": 4},
    "resends": 13,
    "drops": 13,
    "drops_by_cause": {"random": 9, "link_down": 3, "no_route": 1},
    "foreign_frames": 0,
    "counters": {"a": {"retransmit_resend_hole": 13, "port0_rx_packets": 9}, "b": {"zero": 0}},
    "cycles": 123_456,
    "simulated_us": 493.8,
    "goodput_gbps": 67.95,
    "cycles_per_second": 10_000.0,
    "sha256_sent": "5e" * 32,
    "sha256_received": "5e" * 32,
    "finished": True,
    "failed": [],
    "memory_as_modelled": True,
    "immediates_as_modelled": True,
    "scoreboard_faults": [],
    "malformed": [],
    "rest_untouched": True,
    "immediates_in_order": True,
    "shortfalls": [],
    "immediates_complete": True,
    "underruns": 0,
    "occupied_slots": {"a": 0, "b": 0},
}


def printed(result):
    console = Console(width=80, file=io.StringIO())
    for table in transfer_tables(result, title="title"):
        console.print(table)
    return console.file.getvalue()


def test_success_has_no_problems():
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sha256_received": "5f" * 32}, "the octets that arrived differ"),
        ({"finished": False}, "not every message was completed in time"),
        ({"failed": ["RETRY_EXCEEDED"]}, "messages failed: RETRY_EXCEEDED"),
        ({"memory_as_modelled": False}, "memory differs from what the reference model wrote"),
        ({"immediates_as_modelled": False}, "immediates differ"),
        ({"scoreboard_faults": ["SACK of 0x1"]}, "SACK of 0x1"),
        ({"malformed": ["a0 sent a frame"]}, "a0 sent a frame"),
        ({"rest_untouched": False}, "octets outside of the targets were overwritten"),
        ({"immediates_complete": False}, "immediates are missing"),
        ({"immediates_in_order": False}, "immediates are repeated"),
        ({"shortfalls": ["QP 0x1000 sends 3"]}, "QP 0x1000 sends 3"),
        ({"underruns": 2}, "2 idle beats inside frames"),
        ({"occupied_slots": {"a": 3, "b": 0}}, "payload slots stay occupied"),
    ],
)
def test_each_problem_is_told(change, sentence):
    (problem,) = problems({**GOOD, **change})
    assert problem.startswith(sentence)


def test_table_tells_what_there_is():
    text = printed(GOOD)
    lines = {line.strip() for line in text.splitlines()}
    figures = {" ".join(line.split()) for line in lines}
    assert {
        "octets 4,194,304",
        "data packets sent 1,037",
        "plane 0 528 on 2 of 4 EVs, 264 each",
        "plane 1 509 on 2 of 4 EVs, 9 to 500 each",
        "drops 13 in the fabric",
        "9 at random",
        "3 at a link or switch that was down",
        "resends 13",
        "a: retransmit_resend_hole 13",
        "cycles 123,456",
        "simulated time 493.8 us",
        "goodput 67.95 Gb/s",
        f"SHA-256 at A {'5e' * 32}",
        f"SHA-256 at B {'5e' * 32}",
    } <= figures
    assert "zero" not in text
    assert "rx_packets" not in text


def test_frames_of_the_kernel():
    result = {**GOOD, "foreign_frames": 12, "drops_by_cause": {"kernel": 13}}
    lines = [" ".join(line.split()) for line in printed(result).splitlines()]
    assert "13 in the kernel" in lines
    assert "foreign frames 12 of the switches' own" in lines


def test_plane_without_packets():
    idle = {**GOOD, "packets_per_plane": [1037, 0], "packets_per_ev": [259] * 4 + [0] * 4}
    assert "0 on none of its EVs" in printed(idle)


def test_command_fails_with_a_table_where_octets_differ(tmp_path, monkeypatch):
    """What was found is kept all the same."""
    result = {**GOOD, "sha256_received": "5f" * 32}
    monkeypatch.setattr(transfer, "_run", lambda *arguments: result)
    figures = tmp_path / "f.json"
    run = CliRunner().invoke(cli, ["sim", "transfer", "--size", "4MiB", "--json", str(figures)])
    assert run.exit_code == 1
    assert f"SHA-256 at B {'5f' * 32}" in run.stdout
    assert run.stderr == "Error: the octets that arrived differ from those that were sent\n"
    assert json.loads(figures.read_text()) == result

    monkeypatch.setattr(transfer, "_run", lambda *arguments: GOOD)
    assert CliRunner().invoke(cli, ["sim", "transfer", "--size", "4MiB"]).exit_code == 0


def test_plot_is_a_png(tmp_path):
    series = {
        "bin_us": 5,
        "octets": [0, 40_000, 60_000],
        "planes": [[1, 8, 6], [1, 7, 8]],
        "resends": [0, 1, 0],
        "events": [{"time_us": 6.0, "what": "p0t10 down"}],
    }
    with (tmp_path / "plot.png").open("wb") as file:
        plot_transfer({"series": series}, file, title="title")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("text", "octets"), [("1", 1), ("3KiB", 3072), ("4MiB", 4 << 20), ("1GiB", 1 << 30)]
)
def test_sizes(text, octets):
    assert parse_size(text) == octets

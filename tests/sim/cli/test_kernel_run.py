"""Whole runs across the kernel's routers."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kernel_networks import need_kernel_network

from mrcnic.sim.bench.runner import find_simulator
from mrcnic.sim.fabric.linux.namespaces import list_namespaces

MRCNIC = Path(sys.executable).with_name("mrcnic")

#: A machine that does much else may be slow.
PATIENCE_S = 300


def need(simulator):
    need_kernel_network()
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")


def test_file_arrives_in_spite_of_losses(tmp_path):
    need("verilator")
    command = ("sim", "transfer", "--size", "256KiB", "--fabric", "linux", "--drop", "0.01")
    run = subprocess.run(
        [MRCNIC, *command, "--json", "f.json", "--pcap", "captures"],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    result = json.loads((tmp_path / "f.json").read_text())
    assert result["sha256_sent"] == result["sha256_received"]
    assert result["drops_by_cause"].keys() <= {"random"}  # with so few packets there may be none
    assert min(result["packets_per_plane"]) > 0
    assert re.search(rf"SHA-256 at B {result['sha256_sent']}", run.stdout)
    captures = {path.name for path in (tmp_path / "captures").iterdir()}
    assert captures == {"a0.pcapng", "a1.pcapng", "b0.pcapng", "b1.pcapng"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_killed_run_leaves_no_namespace(tmp_path, number):
    need("icarus")
    command = ("--preset", "tiny", "--simulator", "icarus", "--size", "4KiB", "--fabric", "linux")
    process = subprocess.Popen(
        [MRCNIC, "sim", "transfer", *command, "--pcap", tmp_path / "captures"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    prefix = f"mrcnic-{process.pid}-"
    try:
        wait_until(lambda: list((tmp_path / "captures").rglob("*.pcapng")), process)
        assert len(list_namespaces(prefix)) == 6  # one plane
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if number == signal.SIGKILL:
        # The child that runs the simulator sees to it.
        wait_until(lambda: not list_namespaces(prefix))
    else:
        assert (process.returncode, err) == (128 + number, "mrcnic: interrupted\n")
        assert list_namespaces(prefix) == []


def wait_until(condition, process=None):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)

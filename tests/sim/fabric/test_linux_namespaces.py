"""Nothing is left behind, whatever happens to a run."""

import os
import signal
import subprocess
import sys
import time

import pytest
from kernel_networks import need_kernel_network
from pyroute2 import netns

from mrcnic.sim.fabric.linux.fabric import LinuxFabric
from mrcnic.sim.fabric.linux.namespaces import (
    check_support,
    list_namespaces,
    remove_leftovers,
    remove_namespaces,
)
from mrcnic.sim.fabric.linux.network import KernelNetwork
from mrcnic.sim.fabric.topology import default_topology

TOPOLOGY = default_topology(planes=1, spines=1)

#: A process that makes a network, and waits.
SCRIPT = """
import signal
import sys
from mrcnic.sim.fabric.linux.fabric import LinuxFabric
from mrcnic.sim.fabric.linux.network import KernelNetwork
from mrcnic.sim.fabric.topology import default_topology

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if the tests run unattended
with KernelNetwork.created(default_topology(planes=1, spines=1)) as network:
    with LinuxFabric(network):
        print(network.prefix, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def other():
    need_kernel_network()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    with process:
        process.prefix = process.stdout.readline().strip()
        yield process
        process.kill()
    remove_namespaces(process.prefix)


def make():
    with KernelNetwork.created(TOPOLOGY):
        pass


def test_network_is_gone_in_the_end():
    need_kernel_network()
    with KernelNetwork.created(TOPOLOGY) as network:
        assert list_namespaces(network.prefix) == sorted(
            f"mrcnic-{os.getpid()}-{network.prefix.split('-')[2]}-{name}"
            for name in ("p0t00", "p0t01", "p0t10")
        )
        with KernelNetwork.created(TOPOLOGY) as second, LinuxFabric(second):
            assert len(list_namespaces(second.prefix)) == 3
        assert list_namespaces(second.prefix) == []
        assert len(list_namespaces(network.prefix)) == 3
    assert list_namespaces(network.prefix) == []


def test_network_is_gone_when_its_making_fails(monkeypatch):
    need_kernel_network()
    monkeypatch.setattr(KernelNetwork, "_add_segment", lambda *_: os.close(-1))
    with pytest.raises(RuntimeError, match=r"cannot be made: .*Bad file"):
        make()
    assert list_namespaces(f"mrcnic-{os.getpid()}-") == []


def test_kernel_without_the_flavour_is_told(monkeypatch, tmp_path):
    need_kernel_network()
    (tmp_path / "ip").write_text("#!/bin/sh\necho RTNETLINK answers: No >&2\nexit 2\n")
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(RuntimeError, match=r"needs seg6local End with next-csid: .*answers: No\)$"):
        make()
    assert list_namespaces(f"mrcnic-{os.getpid()}-") == []


def test_interrupt_leaves_nothing(other):
    assert len(list_namespaces(other.prefix)) == 3
    other.send_signal(signal.SIGINT)
    other.wait(30)
    assert list_namespaces(other.prefix) == []


def test_start_cleans_up_after_those_who_were_killed(other):
    remove_leftovers()
    assert len(list_namespaces(other.prefix)) == 3  # it lives
    other.send_signal(signal.SIGKILL)
    while os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT) is None:
        time.sleep(0.01)
    assert len(list_namespaces(other.prefix)) == 3
    with KernelNetwork.created(TOPOLOGY):  # a zombie does not count as alive
        assert list_namespaces(other.prefix) == []


def test_only_our_own_are_cleaned_up():
    need_kernel_network()
    mine, foreign = f"mrcnic-{os.getpid()}-999-p0t00", "mrcnic-linuxfabrictest"
    try:
        # One that a process of the same number has left, in an earlier life of the machine.
        netns.create(mine)
        netns.create(foreign)
        remove_leftovers()
        assert mine not in netns.listnetns()
        assert foreign in netns.listnetns()
    finally:
        netns.remove(foreign)
        remove_namespaces(f"mrcnic-{os.getpid()}-999-")


def test_missing_rights_are_told():
    need_kernel_network()
    run = subprocess.run(
        [
            "setpriv", "--bounding-set=-net_admin", sys.executable, "-c",
            "from mrcnic.sim.fabric.linux.namespaces import *; check_support()",
        ],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.stderr.splitlines()[-1] == (
        "RuntimeError: the linux fabric needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)"
    )


def test_missing_program_is_told(monkeypatch, tmp_path):
    need_kernel_network()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"needs the program ip: apt-get install iproute2$"):
        check_support()

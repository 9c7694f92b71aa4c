import json
import os
import re
import signal
import struct
from dataclasses import asdict

import pytest
from command_line import Command
from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader
from tshark import TSHARK, dissected

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.runner import find_simulator
from mrcnic.sim.cli.waveforms import is_whole_fst
from mrcnic.sim.scenarios.run import build, simulate

TRANSFER = ("sim", "transfer", "--preset", "tiny", "--simulator", "icarus")


@pytest.fixture
def icarus():
    if not find_simulator("icarus"):
        pytest.skip("icarus is not installed")


def test_transfer_and_all_it_writes(icarus, tmp_path):
    content = bytes(range(256)) * 9 + b"end"
    (tmp_path / "file").write_bytes(content)
    outputs = ("--json", "f.json", "--plot", "plots/f.png", "--pcap", "captures")
    outputs += ("--trace", "traces/f.fst")
    with Command(tmp_path, *TRANSFER, "file", "--qps", "2", *outputs) as command:
        code, out, err = command.end()
    assert (code, err) == (0, "")

    result = json.loads((tmp_path / "f.json").read_text())
    assert result["octets"] == len(content)
    assert result["sha256_sent"] == result["sha256_received"]
    assert result["packets"] == sum(result["packets_per_plane"]) == sum(result["packets_per_ev"])
    digest = result["sha256_sent"]
    for line in (
        rf"octets +{len(content):,}",
        rf"data packets sent +{result['packets']}",
        rf"drops +{result['drops']} in the fabric",
        rf"resends +{result['resends']}",
        rf"plane 0 +{result['packets']} on \d+ of 16 EVs",
        rf"cycles +{result['cycles']:,}",
        r"simulated time +[\d.,]+ us",
        r"goodput +[\d.]+ Gb/s",
        rf"SHA-256 at A {digest}",
        rf"SHA-256 at B {digest}",
    ):
        assert re.search(line, out), line
    assert (tmp_path / "plots/f.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    check_captures(tmp_path / "captures", result)
    check_trace(tmp_path / "traces", result)
    assert {path.name for path in tmp_path.iterdir()} == {
        "file", "f.json", "plots", "captures", "traces",
    }  # fmt: skip


def check_trace(folder, result):
    """The waveforms reach from the start to the end, and are those of both NICs."""
    (path,) = folder.iterdir()
    assert is_whole_fst(path)
    start, end = struct.unpack_from(">QQ", path.read_bytes(), 9)
    scopes, signals = struct.unpack_from(">QQ", path.read_bytes(), 9 + 32)
    (exponent,) = struct.unpack_from(">b", path.read_bytes(), 9 + 64)
    assert start == 0
    assert end * 10**exponent >= result["simulated_us"] / 1e6
    assert scopes > 2 * 20
    assert signals > 2 * 1000


def check_captures(folder, result):
    """Read what passed the ports with scapy, which knows nothing of this project."""
    assert {path.name for path in folder.iterdir()} == {"a0.pcapng", "b0.pcapng"}
    writes = {"a0": 0, "b0": 0}
    for port in writes:
        with PcapNgReader(str(folder / f"{port}.pcapng")) as reader:
            frames = list(reader)
        assert len(frames) == result["packets"] + sum(result["control_packets"].values())
        for frame in frames:
            assert frame.sniffed_on == port
            check_frame(frame)
            writes[port] += frame[BTH].opcode in range(0xC6, 0xCC)
        if TSHARK:
            check_dissected(dissected(folder / f"{port}.pcapng"), frames)
    assert set(writes.values()) == {result["packets"]}


def check_dissected(rows, frames):
    """Every packet is shown, with a good ICRC, and nothing is found wrong with any."""
    assert len(rows) == len(frames)
    for row, frame in zip(rows, frames, strict=True):
        assert (int(row["mrc.bth.psn"], 0), row["mrc.icrc.status"]) == (frame[BTH].psn, "1")
        assert not {"_ws.malformed", "_ws.expert.message"} & set(row)


def check_frame(frame):
    layers = [type(frame.getlayer(n)) for n in range(5)]
    assert layers == [Ether, IPv6, IPv6, UDP, BTH]
    outer, inner, bth = frame.getlayer(1), frame.getlayer(2), frame[BTH]
    assert outer.plen == len(frame) - 14 - 40
    assert inner.plen == frame[UDP].len == outer.plen - 40
    assert (outer.nh, inner.nh, frame[UDP].dport) == (41, 17, 4791)
    # The ICRC that the frame has, and the one that scapy makes of the rest.
    icrc = bytes(frame)[-4:]
    assert bth.compute_icrc(bytes(bth)) == icrc


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_run_leaves_nothing(icarus, tmp_path, number):
    outputs = ("--json", "f.json", "--plot", "f.png", "--pcap", "captures", "--trace", "f.fst")
    # Who is killed outright cannot tidy up: here, then.
    env = {"TMPDIR": str(tmp_path)}
    with Command(tmp_path, *TRANSFER, "--size", "4KiB", *outputs, env=env) as command:
        # It runs, and has files open.
        command.wait_for(lambda: list((tmp_path / "captures").rglob("*.pcapng")))
        command.process.send_signal(number)
        code, _, err = command.end()
        assert command.all_end(), command.living()
    if number == signal.SIGKILL:
        return
    assert code == 128 + number
    assert err == "mrcnic: interrupted\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_ctrl_c_reaches_the_whole_group(icarus, tmp_path):
    """As a terminal sends it."""
    with Command(tmp_path, *TRANSFER, "--size", "4KiB", "--json", "f.json") as command:
        command.wait_for(lambda: len(command.living()) > 1)
        for pid in command.living():
            if os.getpgid(pid) == os.getpgid(command.process.pid):
                os.kill(pid, signal.SIGINT)
        assert command.end()[::2] == (130, "mrcnic: interrupted\n")
        assert command.all_end(), command.living()
    assert list(tmp_path.iterdir()) == []


def test_bench_that_fails_is_one_line(icarus, tmp_path, monkeypatch):
    (tmp_path / "tb_that_fails.py").write_text(
        "import cocotb\n@cocotb.test()\nasync def it(dut):\n    raise ValueError('no such thing')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pair = build(PRESETS["tiny"], simulator="icarus", progress=lambda step: None)
    with pytest.raises(RuntimeError, match=r"^the process to simulate ended early: ValueError: no"):
        simulate(pair, "tb_that_fails", {}, progress=lambda news: None, seed=1)


def program(folder, name, script):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def finished(cache):
    return list(cache.rglob("finished"))


def test_missing_simulator_is_one_line(tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    env = {"PATH": str(nothing), "MRCNIC_CACHE": str(tmp_path / "cache")}
    with Command(tmp_path, *TRANSFER, "--size", "1", env=env) as command:
        code, _, err = command.end()
    assert code == 1
    assert err == "mrcnic: icarus is not installed: apt-get install iverilog\n"


def test_missing_compiler_is_one_line(tmp_path):
    program(tmp_path / "bin", "verilator", "exit 1")
    env = {"PATH": str(tmp_path / "bin"), "MRCNIC_CACHE": str(tmp_path / "cache")}
    arguments = ("sim", "transfer", "--preset", "tiny", "--size", "1")
    with Command(tmp_path, *arguments, env=env) as command:
        code, out, err = command.end()
    assert (code, out) == (1, "")
    assert err == "mrcnic: verilator needs perl, make, c++: apt-get install perl make g++\n"
    assert finished(tmp_path / "cache") == []


def test_compiler_that_fails_is_one_line(tmp_path):
    cache = tmp_path / "cache"
    env = program(tmp_path / "bin", "iverilog", "echo out of memory >&2; exit 1")
    with Command(
        tmp_path, *TRANSFER, "--size", "1", env={**env, "MRCNIC_CACHE": str(cache)}
    ) as command:
        code, _, err = command.end()
    assert code == 1
    assert re.fullmatch(r"mrcnic: icarus failed to build: .*\n", err)
    assert finished(cache) == []


def test_interrupted_build_leaves_no_compiler_and_does_not_count(tmp_path):
    cache, started = tmp_path / "cache", tmp_path / "started"
    # A compiler that has children of its own, as `make` has.
    env = program(tmp_path / "bin", "iverilog", f"sleep 1000 & touch {started}; wait")
    with Command(
        tmp_path, *TRANSFER, "--size", "1", env={**env, "MRCNIC_CACHE": str(cache)}
    ) as command:
        command.wait_for(started.exists)
        command.process.send_signal(signal.SIGINT)
        assert command.end()[::2] == (130, "mrcnic: interrupted\n")
        assert command.all_end(), command.living()
    assert finished(cache) == []


def test_generate_writes_a_module_with_axi_ports(tmp_path):
    with Command(
        tmp_path, "generate", "--preset", "tiny", "--name", "nic", "-o", "v/n.v",
        "--interface", "n.json",
    ) as command:  # fmt: skip
        code, out, err = command.end()
    text = (tmp_path / "v/n.v").read_text()
    assert (code, err) == (0, "")
    ports = verilog_ports(text, "nic")
    assert out == (
        f"v/n.v: module nic, {text.count(chr(10)):,} lines\nn.json: {len(ports)} ports of nic\n"
    )
    assert {
        "clk", "rst", "s_axis_rx0_tdata", "m_axis_tx0_tdata", "mac0_aligned", "m_axi0_araddr",
        "m_axi0_awaddr", "s_axil_awaddr", "s_axis_wr_tdata", "m_axis_cq_tdata", "m_axis_rq_tdata",
    } <= set(ports)  # fmt: skip
    assert not any("__" in port for port in ports)

    interface = json.loads((tmp_path / "n.json").read_text())
    assert interface["module"] == "nic"
    assert interface["config"] == asdict(PRESETS["tiny"])
    assert len(interface["ports"]) == len(ports)
    assert {port["name"]: (port["direction"], port["width"]) for port in interface["ports"]} == (
        ports
    )


def verilog_ports(text, module) -> dict[str, tuple[str, int]]:
    """Return direction and width of each port, by what the Verilog says."""
    body = re.search(rf"^module {module}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)[0]
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body, re.MULTILINE)
    return {name: (direction, int(top or 0) + 1) for direction, top, name in found}


def test_interrupted_generate_leaves_nothing(tmp_path):
    with Command(tmp_path, "generate", "--preset", "tiny", "-o", "nic.v") as command:
        command.wait_for(lambda: list(tmp_path.iterdir()))
        command.process.send_signal(signal.SIGINT)
        assert command.end() == (130, "", "mrcnic: interrupted\n")
        assert command.all_end(), command.living()
    assert list(tmp_path.iterdir()) == []

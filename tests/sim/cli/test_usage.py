import errno
import json
import os
import re
from dataclasses import fields

import pytest
from command_line import refusal

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.sim.bench import build
from mrcnic.sim.cli import generate, transfer
from mrcnic.sim.cli.main import cli

SIZE = ("sim", "transfer", "--size", "1KiB")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["sim", "bogus"], "No such command 'bogus'"),
        (["sim", "transfer"], "give either FILE or --size"),
        (["sim", "transfer", "there", "--size", "1"], "give either FILE or --size"),
        (["sim", "transfer", "there", "other"], "unexpected extra argument"),
        (["sim", "transfer", "missing"], "there is no file missing"),
        (["sim", "transfer", "."], "there is no file ."),
        (["sim", "transfer", "empty"], "empty is empty"),
        (["sim", "transfer", "--size"], "requires an argument"),
        (["sim", "transfer", "--size", ""], "--size takes a number of octets"),
        (["sim", "transfer", "--size", "0"], "--size takes a number of octets"),
        (["sim", "transfer", "--size", "-1"], "--size takes a number of octets"),
        (["sim", "transfer", "--size", "4MB"], "or 4MiB, not 4MB"),
        (["sim", "transfer", "--size", "2GiB"], "from 1 to 1073741824 octets"),
        ([*SIZE, "--preset", "huge"], "there is no preset huge; the presets are tiny, sim, "),
        ([*SIZE, "--set", "lane=1"], "there is no field lane; the fields are clk_hz, "),
        ([*SIZE, "--set", "self=1"], "there is no field self"),
        ([*SIZE, "--set", "qps"], "--set takes FIELD=VALUE with a whole number, not qps"),
        ([*SIZE, "--set", "qps=many"], "--set takes FIELD=VALUE"),
        ([*SIZE, "--set", "qps=2.0"], "--set takes FIELD=VALUE"),
        ([*SIZE, "--set", "qps=3"], "qps must be a power of two from 2 to 1024, not 3"),
        ([*SIZE, "--set", "lanes=9"], "lanes must be an integer from 1 to 8, not 9"),
        ([*SIZE, "--set", "lanes=3"], "evs must be a multiple of lanes"),
        ([*SIZE, "--simulator", "quick"], "the simulators are verilator, icarus"),
        ([*SIZE, "--fabric", "cloud"], "there is no fabric cloud; the fabrics are model, linux"),
        ([*SIZE, "--qps", "0"], "--qps must be from 1 to 16"),
        ([*SIZE, "--qps", "17"], "--qps must be from 1 to 16"),
        ([*SIZE, "--qps", "x"], "'x' is not a valid integer"),
        ([*SIZE, "--drop", "x"], "'x' is not a valid float"),
        ([*SIZE, "--drop", "1"], "--drop must be from 0 to below 1, not 1.0"),
        ([*SIZE, "--drop", "-0.1"], "--drop must be from 0 to below 1, not -0.1"),
        ([*SIZE, "--drop", "nan"], "--drop must be from 0 to below 1, not nan"),
        ([*SIZE, "--fail", "p9t10@1us"], "there is no node p9t10; the nodes are p0t00, "),
        ([*SIZE, "--fail", "p0t10"], "a failure must be NODE@TIME or NODE@TIME-TIME"),
        ([*SIZE, "--fail", "p0t10@soon"], "a time must be a number with ps, ns, us, ms, s"),
        ([*SIZE, "--fail", "p0t10@20"], "a time must be a number with ps, ns, us, ms, s"),
        ([*SIZE, "--fail", "p0t10@9us-8us"], "the end of a failure must be after its start"),
        ([*SIZE, "--psn", "-1"], "--psn takes a number from 0 to 0xffffff, not -1"),
        ([*SIZE, "--psn", "0x1000000"], "--psn takes a number from 0 to 0xffffff"),
        ([*SIZE, "--psn", "first"], "--psn takes a number from 0 to 0xffffff"),
        ([*SIZE, "--seed", "x"], "'x' is not a valid integer"),
        ([*SIZE, "--fast"], "No such option"),
        ([*SIZE, "--trace", "."], "is a directory"),
        (["config", "--preset", "huge"], "there is no preset huge"),
        (["generate"], "give -o, --interface, or both"),
        (["generate", "-o", "."], "is a directory"),
        (["generate", "--interface", "."], "is a directory"),
        (["generate", "-o", "nic.v", "--name", "2nic"], "--name takes a Verilog identifier"),
        (["generate", "-o", "nic.v", "--set", "mtu=0"], "mtu must be a power of two"),
    ],
)
def test_wrong_usage_is_one_line(run, tmp_path, arguments, sentence):
    (tmp_path / "there").write_bytes(b"content")
    (tmp_path / "other").write_bytes(b"content")
    (tmp_path / "empty").touch()
    assert sentence in refusal(run(*arguments), 2)
    assert {path.name for path in tmp_path.iterdir()} == {"there", "other", "empty"}


@pytest.mark.parametrize(
    "option",
    [
        ["--json", "file/x.json"],
        ["--plot", "file/x.png"],
        ["--pcap", "file"],
        ["--trace", "file/x.fst"],
    ],
)
def test_output_that_cannot_be_written_is_told_before_the_run(run, tmp_path, monkeypatch, option):
    monkeypatch.setattr(transfer, "_run", lambda *arguments: pytest.fail("was run"))
    (tmp_path / "file").touch()
    assert refusal(run(*SIZE, *option), 1).startswith("cannot write ")


def test_kernel_that_cannot_be_the_fabric_is_told_before_the_build(run, tmp_path, monkeypatch):
    def fail():
        raise RuntimeError("the linux fabric needs root")

    monkeypatch.setattr(transfer, "check_support", fail)
    monkeypatch.setattr(transfer, "build_steps", lambda *_, **__: pytest.fail("was built"))
    assert refusal(run(*SIZE, "--fabric", "linux"), 1) == "the linux fabric needs root"


def test_generate_tells_what_it_cannot_write_before_it_works(run, tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "nic_verilog", lambda *_, **__: pytest.fail("was made"))
    (tmp_path / "file").touch()
    for options in (["-o", "file/nic.v"], ["-o", "nic.v", "--interface", "file/nic.json"]):
        assert refusal(run("generate", *options), 1).startswith("cannot write ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_no_file_is_written_as_it_is(run, tmp_path, monkeypatch):
    """Such as /dev/null, which must not become a file."""
    monkeypatch.setattr(generate, "nic_verilog", lambda *_, **__: "module\n")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("generate", "-o", "pipe")[0] == 0
        assert os.read(reader, 100) == b"module\n"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_failure_of_generation_leaves_what_was_there(run, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("Yosys: Warning: so what\nERROR: no\n")

    monkeypatch.setattr(generate, "nic_verilog", fail)
    (tmp_path / "nic.v").write_text("old")
    assert refusal(run("generate", "-o", "nic.v"), 1) == "ERROR: no"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("nic.v", "old")]


def test_full_disk_is_one_line(run, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(generate, "nic_verilog", fail)
    assert "No space left" in refusal(run("generate", "-o", "nic.v"), 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_missing_simulator(simulator, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "find_simulator", lambda name: False)
    monkeypatch.setenv("MRCNIC_CACHE", str(tmp_path / "cache"))
    with pytest.raises(RuntimeError, match=rf"^{simulator} is not installed: .* install .*$"):
        build.build_pair(PRESETS["tiny"], simulator=simulator)
    assert list(tmp_path.iterdir()) == []


def commands(group=cli, path=()):
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_help_has_an_example(run, path):
    code, out, err = run(*path, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: {' '.join(('mrcnic', *path))}")
    example = re.search(r"Example: mrcnic ((?:.|\n)*)$", out)[1].split()
    assert tuple(example[: len(path)]) == path
    # The example of a command names options that there are.
    command = cli
    while hasattr(command, "commands"):
        command = command.commands[example.pop(0)]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in example if word.startswith("-")} <= options


@pytest.mark.parametrize("path", [(), ("sim",)])
def test_group_alone_shows_its_help(run, path):
    code, out, err = run(*path)
    assert code == 2
    assert "Commands:" in out + err


def test_list_names_what_can_be_run(run):
    code, out, _ = run("sim", "list")
    assert code == 0
    names = {line.split()[0] for line in out.splitlines()}
    assert names == set(cli.commands["sim"].commands) - {"list"}


def test_config_tells_each_field_with_value_unit_and_limits(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    _, out, _ = run("config", "--preset", "100g", "--set", "qps=0x40")
    rows = {line.split()[0]: line for line in out.splitlines() if line.split()}
    for item in fields(NicConfig):
        value = 64 if item.name == "qps" else getattr(PRESETS["100g"], item.name)
        allowed = item.metadata["allowed"]
        assert re.search(
            rf"{item.name} +{value:,} +{item.metadata['unit']} +{allowed[0]:,} to {allowed[-1]:,}",
            rows[item.name],
        )


@pytest.mark.parametrize("preset", PRESETS)
def test_config_as_json(run, preset):
    code, out, _ = run("config", "--preset", preset, "--json")
    assert code == 0
    assert NicConfig(**json.loads(out)) == PRESETS[preset]

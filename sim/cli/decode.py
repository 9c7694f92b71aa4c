"""``mrcnic decode``: what is in a capture."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec.description import describe
from mrcnic.sim.codec.dialect import DEFAULT_DIALECT, Dialect
from mrcnic.sim.codec.errors import PacketError
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.pcap import CapturedFrame, read_pcap
from mrcnic.sim.report.packets import packet_block, packet_line

__all__ = ["decode"]


class Decoded(NamedTuple):
    """One frame of a capture, and what the codec makes of it.

    Attributes
    ----------
    number : :class:`int`
        Place in the capture, from 1 on.
    captured : :class:`~mrcnic.sim.codec.pcap.CapturedFrame`
        The frame.
    packet : :class:`~mrcnic.sim.codec.packet.Packet` or None
        The packet, if its fields could be read.
    error : :class:`~mrcnic.sim.codec.errors.PacketError` or None
        Why it is not accepted.
    """

    number: int
    captured: CapturedFrame
    packet: Packet | None
    error: PacketError | None

    def fields(self) -> dict:
        """Return everything, as JSON has it."""
        found = {
            "frame": self.number,
            "interface": self.captured.interface,
            "time_ns": self.captured.time_ns,
            "octets": self.captured.octets or len(self.captured.frame),
        }
        if self.captured.octets:
            found["captured_octets"] = len(self.captured.frame)
        if self.packet:
            found |= describe(self.packet, self.captured.frame, icrc_good=not self.error)
        if self.error:
            found["error"] = {"reason": self.error.reason.value, "sentence": str(self.error)}
        return found


@click.command(epilog="Example: mrcnic decode out/a0.pcapng --opcode SACK --qp 0x12 --count 10")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--opcode", "opcodes", multiple=True, metavar="NAME",
    help="Only packets with this opcode, by name (as WRITE_ONLY) or number; may be repeated.",
)  # fmt: skip
@click.option("--qp", metavar="QPN", help="Only packets to this queue pair.")
@click.option("--interface", help="Only what this port of the capture has seen.")
@click.option("--refused", is_flag=True, help="Only frames that a NIC would not accept.")
@click.option("--count", type=click.IntRange(1), help="No more than so many packets.")
@click.option("--udp-port", type=click.IntRange(0, 65535), help="UDP port, if it is another.")
@click.option("--swap-ev", is_flag=True, help="The lower half of an EV is in the source port.")
@click.option("--verbose", is_flag=True, help="All fields of each packet, one in a line.")
@click.option("--json", "as_json", is_flag=True, help="All fields as JSON.")
def decode(file, opcodes, qp, interface, refused, count, udp_port, swap_ev, verbose, as_json):
    """Show the packets of a capture in the pcapng or pcap format; - is the standard input.

    What is not accepted is shown with the reason, by which the NIC's counters name it too.
    """
    if opcodes:
        opcodes = [_opcode(text) for text in opcodes]
    qp = None if qp is None else _number("--qp", qp, 1 << 24)
    ports = DEFAULT_DIALECT.udp_ports if udp_port is None else (udp_port,)
    path = _checked(file)

    def is_wanted(one: Decoded) -> bool:
        if (opcodes or qp is not None) and one.packet is None:
            return False
        return (
            (not opcodes or one.packet.opcode in opcodes)
            and qp in (None, one.packet and one.packet.dqp)
            and interface in (None, one.captured.interface)
            and (not refused or one.error is not None)
        )

    with _printer(as_json, verbose) as show:
        try:
            for one in _decoded(path, Dialect(udp_ports=ports, swap_ev=swap_ev)):
                if is_wanted(one):
                    show(one)
                    count = count and count - 1
                    if count == 0:
                        break
        except ValueError as error:
            raise click.ClickException(str(error)) from None


def _opcode(text: str) -> int:
    if text.upper() in Opcode.__members__:
        return Opcode[text.upper()]
    names = ", ".join(Opcode.__members__)
    return _number("--opcode", text, 256, f"one of {names}, or ")


def _number(option: str, text: str, limit: int, also: str = "") -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if number not in range(limit):
        raise click.UsageError(
            f"{option} takes {also}a number from 0 to {limit - 1:#x}, not {text}"
        )
    return number


def _checked(path: Path) -> Path:
    if str(path) == "-":
        return Path("/dev/stdin")
    if not path.exists():
        raise click.UsageError(f"there is no file {path}")
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder")
    return path


def _decoded(path: Path, dialect: Dialect) -> Iterator[Decoded]:
    for number, captured in enumerate(read_pcap(path), 1):
        packet = error = None
        try:
            packet = Packet.decode(captured.frame, dialect)
        except PacketError as refusal:
            packet, error = refusal.packet, refusal
        yield Decoded(number, captured, packet, error)


@contextmanager
def _printer(as_json: bool, verbose: bool) -> Iterator[Callable[[Decoded], None]]:
    """Give a function that prints a packet; an array is whole even if the capture is not."""
    if not as_json:
        to_text = packet_block if verbose else packet_line
        yield lambda one: click.echo(to_text(one.fields()))
        return
    separator = "[\n"

    def show(one: Decoded):
        nonlocal separator
        click.echo(f"{separator}{json.dumps(one.fields())}", nl=False)
        separator = ",\n"

    try:
        yield show
    finally:
        click.echo("[]" if separator == "[\n" else "\n]")

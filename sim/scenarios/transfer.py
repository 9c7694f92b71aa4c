"""A transfer: what is sent, over what, with which misfortunes."""

from dataclasses import dataclass
from pathlib import Path

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.fabric.faults import parse_fault
from mrcnic.sim.fabric.topology import default_topology

__all__ = ["FABRICS", "MAX_OCTETS", "TransferSpec"]

#: What may be between the NICs: modelled switches, or routers of the Linux kernel.
FABRICS = ("model", "linux")

#: Most that a transfer may send: it would take a simulator days.
MAX_OCTETS = 1 << 30


@dataclass(frozen=True, kw_only=True)
class TransferSpec:
    """Everything that a transfer depends on.

    Attributes
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes of both NICs.
    file : :class:`str`, optional
        File to send; otherwise ``size`` octets that ``seed`` gives.
    qps : :class:`int`
        Queue pairs that take turns with the messages.
    drop : :class:`float`
        Chance that a packet is lost on its way, whichever way it takes.
    failures : tuple of :class:`str`
        ``NODE@TIME`` or ``NODE@TIME-TIME``, as
        :func:`~mrcnic.sim.fabric.faults.parse_fault` reads them.
    srv6 : :class:`bool`
        Whether the route is in the packet; otherwise plain IPv6.
    psn : :class:`int`, optional
        First PSN of every QP; otherwise ``seed`` gives one for each.
    pcap : :class:`str`, optional
        Folder for captures.
    mtu : :class:`int`, optional
        Path MTU, in octets; otherwise the largest that the NICs have.
    cwnd : :class:`int`, optional
        Congestion window of each QP, in octets.
    mpr : :class:`int`, optional
        Window of each QP, in units of 128 PSNs; otherwise as large as the NICs have it.
    lengths : tuple of :class:`int`
        Lengths of the messages, dealt to the QPs in turn; otherwise the content is cut into
        messages of up to 16 packets.
    losses : tuple of (:class:`str`, :class:`int`, :class:`int`, :class:`int`)
        Kind (``"WRITE"``, ``"SACK"``, ``"ACK"``, ``"NACK"``, ``"PROBE"``), QP, packet and times:
        that packet of that QP is lost so many times. Writes are counted by PSN from 0 on, the
        others as they leave.
    duplicate, reorder : :class:`float`
        Chances that a packet on its way is doubled, and that it is held up.
    timeout, linear_count, exponential_count : :class:`int`, optional
        Retransmission time-out and retries of each QP; otherwise those of
        :class:`~mrcnic.sim.driver.attributes.QpAttributes`.
    stalls : tuple of (:class:`str`, :class:`float`, :class:`float`)
        Host (``"a"`` or ``"b"``) and two times in microseconds: its memory stands still between.
    fabric : :class:`str`
        One of :data:`FABRICS`.
    skew : :class:`int`
        How many octets further on than B's the messages lie in A's memory.
    corrupt, trim, mark, drop_sacks : :class:`float`
        Chances that a packet is damaged, that a write is cut as by a full queue, that a packet is
        marked CE, and that a SACK is lost.
    leaves, spines : :class:`int`
        Shape of the fabric: with one leaf, A and B hang on the same one.
    backups : :class:`int`
        EVs of each plane that are backups.
    immediates : tuple of :class:`int`
        Messages with an immediate, besides the last of each QP.
    gap : :class:`int`
        Octets between the messages in B's memory.
    register_writes : :class:`int`
        How many things are done to registers of each NIC meanwhile.
    renewals : tuple of (:class:`int`, :class:`float`)
        QPs and times in microseconds: then both ends are destroyed, and made anew.
    first_flight : :class:`bool`
        In the end each QP sends a window more, which shows credit that was lost.
    spoiled : tuple of (:class:`int`, :class:`str`)
        Messages with something wrong: ``"rkey"``, ``"address"`` (beyond the region) or ``"qp"``
        (one that is not there).
    registers : tuple of (:class:`str`, :class:`int`)
        Registers of both NICs that are not to be as after reset.
    loop_probes : :class:`bool`
        A port comes up only after probes to the NIC itself have come back by it.
    dead_evs : tuple of (:class:`int`, :class:`float`, :class:`float`)
        EV of A and two times in microseconds: all that A sends on it is lost between.
    until_us : :class:`float`, optional
        No message is posted after this time, whatever there is left.
    log : :class:`bool`
        Keep what happened to each packet, each EV and each port.
    sample_us : :class:`float`, optional
        Ask for the states of A's EVs again and again, with so much time between.
    """

    config: NicConfig
    file: str | None = None
    size: int = 0
    qps: int = 4
    drop: float = 0.0
    failures: tuple[str, ...] = ()
    srv6: bool = True
    psn: int | None = None
    seed: int = 0
    pcap: str | None = None
    mtu: int | None = None
    cwnd: int | None = None
    mpr: int | None = None
    lengths: tuple[int, ...] = ()
    losses: tuple[tuple[str, int, int, int], ...] = ()
    duplicate: float = 0.0
    reorder: float = 0.0
    timeout: int | None = None
    linear_count: int | None = None
    exponential_count: int | None = None
    stalls: tuple[tuple[str, float, float], ...] = ()
    fabric: str = "model"
    skew: int = 0
    corrupt: float = 0.0
    trim: float = 0.0
    mark: float = 0.0
    drop_sacks: float = 0.0
    leaves: int = 2
    spines: int = 4
    backups: int = 0
    immediates: tuple[int, ...] = ()
    gap: int = 0
    register_writes: int = 0
    renewals: tuple[tuple[int, float], ...] = ()
    first_flight: bool = False
    spoiled: tuple[tuple[int, str], ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    loop_probes: bool = False
    dead_evs: tuple[tuple[int, float, float], ...] = ()
    until_us: float | None = None
    log: bool = False
    sample_us: float | None = None

    @property
    def octets(self) -> int:
        """Length of what is sent."""
        if self.file:
            return Path(self.file).stat().st_size
        return sum(self.lengths) or self.size

    @property
    def max_cycles(self) -> int:
        """Cycles after which the transfer counts as hung: ten times a slow one."""
        slow = self.octets * 8 // 10  # 10 Gb/s, in nanoseconds
        return (10 * slow + 20_000_000) * (self.config.clk_hz // 1_000_000) // 1000

    def check(self):
        """Refuse what cannot be run.

        Raises
        ------
        ValueError
            One sentence that names option, value and limit.
        """
        if self.octets not in range(1, MAX_OCTETS + 1):
            raise ValueError(
                f"a transfer sends from 1 to {MAX_OCTETS} octets, which is 1 GiB, not {self.octets}"
            )
        if self.qps not in range(1, self.config.qps + 1):
            raise ValueError(
                f"--qps must be from 1 to {self.config.qps}, which the preset has, not {self.qps}"
            )
        if not 0 <= self.drop < 1:
            raise ValueError(f"--drop must be from 0 to below 1, not {self.drop}")
        if self.fabric not in FABRICS:
            raise ValueError(
                f"there is no fabric {self.fabric}; the fabrics are {', '.join(FABRICS)}"
            )
        topology = default_topology(
            planes=self.config.lanes, leaves=self.leaves, spines=self.spines
        )
        for failure in self.failures:
            parse_fault(failure, topology)

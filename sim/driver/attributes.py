"""What two ends of a queue pair have agreed on."""

from collections.abc import Sequence
from dataclasses import dataclass

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.srv6 import CARRIER, USID, USID_SLOTS

from .routes import Route

__all__ = ["Carrier", "QpAttributes"]

#: QPNs that no QP may have: 0 to 2 are for other ends, the highest for groups.
_RESERVED_QPNS = (0, 1, 2, 0xFF_FFFF)

#: Code of the longest base of a retransmission time-out: longer ones would confuse the clock.
_MAX_TIMEOUT = 19

#: Value of ``exponential_count`` without a limit.
_NO_LIMIT = 25


def _check(name, value, low, high):
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value}")


@dataclass(frozen=True, kw_only=True)
class Carrier:
    """Route to a peer: uSIDs, whose plane and uplink each packet's EV adds.

    Attributes
    ----------
    block : :class:`int`
        Locator block, 32 bits.
    usids : sequence of :class:`int`
        From the first switch to the peer, with planes and the uplink left zero; none is zero.
    uplink : :class:`int`, optional
        Which of them, from 0 on, takes the uplink. If not given, none does.
    route : :class:`~mrcnic.sim.driver.routes.Route`, optional
        Further segments, in a segment routing header.

    Raises
    ------
    ValueError
        If there are more uSIDs than fit, or one is not a template.
    """

    block: int
    usids: Sequence[int]
    uplink: int | None = None
    route: Route | None = None

    def __post_init__(self):
        object.__setattr__(self, "usids", tuple(self.usids))
        _check("block", self.block, 0, 0xFFFF_FFFF)
        if not 1 <= len(self.usids) <= USID_SLOTS:
            raise ValueError(
                f"a carrier must have from 1 to {USID_SLOTS} uSIDs, not {len(self.usids)}"
            )
        for usid in self.usids:
            _check("a uSID", usid, 1, 0xFFFF)
            if USID.unpack(usid.to_bytes(2))["plane"]:
                raise ValueError(f"the plane of a uSID must be left 0, not {usid:#06x}")
        if self.uplink is not None:
            _check("uplink", self.uplink, 0, len(self.usids) - 1)
            if USID.unpack(self.usids[self.uplink].to_bytes(2))["index"] & 0xFF:
                raise ValueError(
                    f"the index of the uSID with the uplink must be left 0, "
                    f"not {self.usids[self.uplink]:#06x}"
                )

    @property
    def fields(self) -> dict[str, int]:
        """Fields of a QP's row."""
        slots = {f"usid_{n}": usid for n, usid in enumerate(self.usids)}
        return {
            "srv6": 1,
            "carrier": int.from_bytes(CARRIER.pack(block=self.block, **slots)),
            "plane_slots": (1 << len(self.usids)) - 1,
            "uplink_slots": 0 if self.uplink is None else 1 << self.uplink,
            **(self.route.fields if self.route else {}),
        }


@dataclass(frozen=True, kw_only=True)
class QpAttributes:
    """Attributes of a queue pair.

    Attributes
    ----------
    qpn, remote_qpn : :class:`int`
        Numbers of the QP here and at the peer.
    destination : :class:`int`
        The peer's own address.
    ipv4 : :class:`bool`
        That is an address of IPv4, and so are packets.
    carrier : :class:`Carrier`, optional
        Route; without it, packets are plain IP.
    peer : :class:`int`
        Number of the remote NIC (:class:`~mrcnic.sim.driver.peers.Peers`).
    profile : :class:`int`
        EV profile.
    mtu : :class:`int`
        Path MTU, in octets.
    tx_psn, rx_psn : :class:`int`
        First PSN that is sent, and that is expected.
    mpr : :class:`int`
        The peer's window, in units of 128 PSNs.
    max_immediates : :class:`int`
        Writes with immediate that the peer lets be under way.
    cwnd : :class:`int`
        Congestion window, in octets. The default is 1.5 times what 100 Gb/s hold in 12 us.
    timeout : :class:`int`
        Code of the retransmission time-out: 1.024 us * 2**timeout. Zero is the shortest.
    linear_count, exponential_count : :class:`int`
        Time-outs before they double, and doublings before the QP fails; 25: it never does.
    domain : :class:`int`
        Protection domain.
    trim_nack : :class:`bool`
        Whether both ends report trimmed packets.
    dynamic_mpr : :class:`bool`
        Whether both ends tell their windows in SACKs; ``mpr`` is then only that of the start.
    """

    qpn: int
    remote_qpn: int
    destination: int
    ipv4: bool = False
    carrier: Carrier | None = None
    peer: int = 0
    profile: int = 0
    mtu: int = 4096
    tx_psn: int = 0
    rx_psn: int = 0
    mpr: int = 8
    max_immediates: int = 32
    cwnd: int = 225_000
    timeout: int = 6
    linear_count: int = 7
    exponential_count: int = 7
    domain: int = 0
    trim_nack: bool = True
    dynamic_mpr: bool = False

    def check(self, config: NicConfig):
        """Refuse what the NIC cannot do.

        Raises
        ------
        ValueError
            One sentence that names attribute, limit and value.
        """
        for name in ("qpn", "remote_qpn"):
            value = getattr(self, name)
            _check(name, value, 0, 0xFF_FFFF)
            if value in _RESERVED_QPNS:
                raise ValueError(f"{name} must not be {value:#x}, which is reserved")
        _check("destination", self.destination, 1, (1 << (32 if self.ipv4 else 128)) - 1)
        _check("peer", self.peer, 0, config.peers - 1)
        _check("profile", self.profile, 0, config.profiles - 1)
        if self.mtu not in (256, 512, 1024, 2048, 4096) or self.mtu > config.mtu:
            raise ValueError(f"mtu must be a power of two from 256 to {config.mtu}, not {self.mtu}")
        _check("tx_psn", self.tx_psn, 0, 0xFF_FFFF)
        _check("rx_psn", self.rx_psn, 0, 0xFF_FFFF)
        _check("mpr", self.mpr, 1, 255)
        _check("max_immediates", self.max_immediates, 1, 128)
        _check("cwnd", self.cwnd, self.mtu, (1 << 25) - 1)
        _check("timeout", self.timeout, 0, _MAX_TIMEOUT)
        _check("linear_count", self.linear_count, 0, 7)
        _check("exponential_count", self.exponential_count, 0, _NO_LIMIT)
        _check("domain", self.domain, 0, 0xFFFF)

    def fields(self, config: NicConfig) -> dict[str, int]:
        """Return the fields of the QP's row; the window is no larger than the NIC's own."""
        same = (
            "qpn", "remote_qpn", "destination", "peer", "profile", "tx_psn", "rx_psn",
            "max_immediates", "cwnd", "timeout", "linear_count", "exponential_count", "domain",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in same},
            "mpr": min(self.mpr, config.window // 128),
            "mtu_code": (self.mtu // 256).bit_length() - 1,
            "trim_nack": int(self.trim_nack),
            "dynamic_mpr": int(self.dynamic_mpr),
            "ipv4": int(self.ipv4),
            **(self.carrier.fields if self.carrier else {}),
        }

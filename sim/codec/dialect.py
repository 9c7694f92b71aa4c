"""What may be set about the wire format."""

from dataclasses import dataclass

from mrcnic.hdl.wire.opcodes import Dscp

__all__ = ["DEFAULT_DIALECT", "Dialect"]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What may be set about the wire format.

    Attributes
    ----------
    udp_ports : :class:`tuple` of :class:`int`
        Destination ports accepted; the first is the one that is sent.
    p_key : :class:`int`
        Partition key sent, and the only one accepted.
    swap_ev : :class:`bool`
        The lower half of the EV is in the source port, instead of the upper.
    trimmed : :class:`frozenset` of :class:`int`
        DSCP values of packets that a switch has cut.
    """

    udp_ports: tuple[int, ...] = (4791, 4971)
    p_key: int = 0xFFFF
    swap_ev: bool = False
    trimmed: frozenset[int] = frozenset({Dscp.TRIMMED, Dscp.TRIMMED_LASTHOP})


#: Everything at its default.
DEFAULT_DIALECT = Dialect()

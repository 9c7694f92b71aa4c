"""AXI4 and AXI4-Lite interfaces, with the names that the rest of the world uses."""

from operator import index

from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

__all__ = [
    "ADDRESS_BITS",
    "BOUNDARY_OCTETS",
    "Burst",
    "Response",
    "axi4_lite_signature",
    "axi4_read_signature",
    "axi4_write_signature",
    "host_octets",
]

#: Width of an address in host memory.
ADDRESS_BITS = 64

#: No burst crosses a multiple of so many octets (AXI4, section A3.4.1).
BOUNDARY_OCTETS = 4096

#: Width of an identifier. One is enough: everything is in order.
_ID_BITS = 1

#: A host port is never wider than this.
_MAX_OCTETS = 64


class Burst(enum.Enum, shape=2):
    """Burst types."""

    FIXED = 0
    INCR = 1
    WRAP = 2


class Response(enum.Enum, shape=2):
    """Responses; the upper bit tells an error."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def host_octets(config: NicConfig) -> int:
    """Return the width of a lane's host port, in octets.

    Raises
    ------
    ValueError
        If a beat is wider than a host port may be.
    """
    if config.beat_octets > _MAX_OCTETS:
        raise ValueError(
            f"beat_octets must not exceed {_MAX_OCTETS} where host memory is on AXI4, "
            f"not {config.beat_octets}"
        )
    return config.beat_octets


def _address_channel(letter: str) -> dict:
    return {
        f"a{letter}id": Out(_ID_BITS),
        f"a{letter}addr": Out(ADDRESS_BITS),
        f"a{letter}len": Out(8),
        f"a{letter}size": Out(3),
        f"a{letter}burst": Out(Burst),
        f"a{letter}cache": Out(4),
        f"a{letter}prot": Out(3),
        f"a{letter}valid": Out(1),
        f"a{letter}ready": In(1),
    }


def axi4_read_signature(octets: int) -> wiring.Signature:
    """Return the read half of AXI4, as the manager sees it.

    Parameters
    ----------
    octets : :class:`int`
        Width of the data, in octets.
    """
    return wiring.Signature({
        **_address_channel("r"),
        "rid": In(_ID_BITS),
        "rdata": In(8 * index(octets)),
        "rresp": In(Response),
        "rlast": In(1),
        "rvalid": In(1),
        "rready": Out(1),
    })


def axi4_write_signature(octets: int) -> wiring.Signature:
    """Return the write half of AXI4, as the manager sees it.

    Parameters
    ----------
    octets : :class:`int`
        Width of the data, in octets.
    """
    return wiring.Signature({
        **_address_channel("w"),
        "wdata": Out(8 * index(octets)),
        "wstrb": Out(index(octets)),
        "wlast": Out(1),
        "wvalid": Out(1),
        "wready": In(1),
        "bid": In(_ID_BITS),
        "bresp": In(Response),
        "bvalid": In(1),
        "bready": Out(1),
    })


def axi4_lite_signature(address_bits: int) -> wiring.Signature:
    """Return AXI4-Lite with 32 bits of data, as the manager sees it.

    Parameters
    ----------
    address_bits : :class:`int`
        Width of an address; addresses are of octets.
    """
    return wiring.Signature({
        "awaddr": Out(index(address_bits)),
        "awprot": Out(3),
        "awvalid": Out(1),
        "awready": In(1),
        "wdata": Out(32),
        "wstrb": Out(4),
        "wvalid": Out(1),
        "wready": In(1),
        "bresp": In(Response),
        "bvalid": In(1),
        "bready": Out(1),
        "araddr": Out(index(address_bits)),
        "arprot": Out(3),
        "arvalid": Out(1),
        "arready": In(1),
        "rdata": In(32),
        "rresp": In(Response),
        "rvalid": In(1),
        "rready": Out(1),
    })

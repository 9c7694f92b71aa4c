"""Resource helpers that amaranth-boards does not have: QSFP cages and PCIe edges."""

from amaranth.build import DiffPairs, Pins, PinsN, Resource, Subsignal

__all__ = ["pcie_resource", "qsfp_resource"]


def _lanes(rx_p, rx_n, tx_p, tx_n):
    return [
        Subsignal("rx", DiffPairs(p=rx_p, n=rx_n, dir="i")),
        Subsignal("tx", DiffPairs(p=tx_p, n=tx_n, dir="o")),
    ]


def qsfp_resource(number, *, rx_p, rx_n, tx_p, tx_n, attrs=None, **management):
    """Return a QSFP cage: four lanes in each direction, and the management pins there are.

    Parameters
    ----------
    number : :class:`int`
        Number of the cage.
    rx_p, rx_n, tx_p, tx_n : :class:`str`
        Pins of the transceivers, lane 0 first. They take no attributes.
    attrs : :class:`~amaranth.build.Attrs`
        Attributes of the management pins.
    **management : :class:`str`
        Pins by the name of SFF-8679: ``modsel_n``, ``reset_n``, ``modprs_n``, ``int_n``,
        ``lpmode``, and ``scl`` with ``sda``. In the resource they are called without ``_n``, and
        are inverted.

    Raises
    ------
    TypeError
        If there is no such management pin.
    """
    kinds = {
        "modsel_n": (PinsN, "o"),
        "reset_n": (PinsN, "o"),
        "modprs_n": (PinsN, "i"),
        "int_n": (PinsN, "i"),
        "lpmode": (Pins, "o"),
        "scl": (Pins, "io"),
        "sda": (Pins, "io"),
    }
    ios = _lanes(rx_p, rx_n, tx_p, tx_n)
    for name, pin in management.items():
        if name not in kinds:
            raise TypeError(f"a QSFP cage has {', '.join(kinds)}, and no {name}")
        make, direction = kinds[name]
        ios.append(
            Subsignal(name.removesuffix("_n"), make(pin, dir=direction, assert_width=1), attrs)
        )
    return Resource("qsfp", number, *ios)


def pcie_resource(number, *, rx_p, rx_n, tx_p, tx_n, reset_n, attrs):
    """Return a PCIe edge connector: lanes, and the reset that the host drives.

    Parameters
    ----------
    number : :class:`int`
        Number of the connector.
    rx_p, rx_n, tx_p, tx_n : :class:`str`
        Pins of the transceivers, lane 0 first. They take no attributes.
    reset_n : :class:`str`
        Pin of PERST#.
    attrs : :class:`~amaranth.build.Attrs`
        Attributes of that pin.
    """
    return Resource(
        "pcie",
        number,
        Subsignal("reset", PinsN(reset_n, dir="i", assert_width=1), attrs),
        *_lanes(rx_p, rx_n, tx_p, tx_n),
    )

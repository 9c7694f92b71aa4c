"""Laying headers out as octets."""

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from mrcnic.hdl.wire.headers import Header
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = ["lay", "lay_view"]


def lay(header: Header, **fields) -> Value:
    """Return the octets of a header, the first in the least significant bits.

    Fields left out are zero; the others are integers or values of their exact width.
    """
    layout = HeaderLayout(header)
    values = [
        Const(field, width) if isinstance(field, int) else Value.cast(field)
        for name, width in reversed(header.fields.items())
        for field in [fields.get(name, 0)]
    ]
    return layout.to_octets(data.View(layout, Cat(values)))


def lay_view(view: data.View) -> Value:
    """Return the octets of a header that is there as a view of its layout."""
    return view.shape().to_octets(view)

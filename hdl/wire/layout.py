"""Headers as gateware sees them."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from .headers import Header

__all__ = ["HeaderLayout"]


class HeaderLayout(data.StructLayout):
    """Layout of a header, with its fields as numbers.

    On a packet stream the first octet is the least significant; in a header it is the most. The
    two meet here and nowhere else, in :meth:`from_octets` and :meth:`to_octets`, which take no
    logic.

    Parameters
    ----------
    header : :class:`~mrcnic.hdl.wire.headers.Header`
        Fields.
    """

    def __init__(self, header: Header):
        self.header = header
        # Amaranth's first field is the least significant, the standard's is the most.
        super().__init__(dict(reversed(header.fields.items())))

    def from_octets(self, octets: Value) -> data.View:
        """View the header at the start of ``octets``, the first of which is least significant."""
        return data.View(self, _swap_octets(Value.cast(octets)[: self.size]))

    def to_octets(self, header: data.View) -> Value:
        """Lay the header out as octets: the inverse of :meth:`from_octets`."""
        return _swap_octets(header.as_value())


def _swap_octets(value: Value) -> Value:
    return Cat(value[start : start + 8] for start in reversed(range(0, len(value), 8)))

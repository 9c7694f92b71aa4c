"""What a register is, in plain Python."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["WORD_BITS", "Access", "Field", "Register"]

#: Width of a word.
WORD_BITS = 32


class Access(Enum):
    """What reads and writes of a register do."""

    #: Reads what the NIC says. Writes do nothing.
    R = "r"
    #: Reads what was written last.
    RW = "rw"
    #: Reads what has happened. Writing ones clears those bits.
    RW1C = "rw1c"
    #: Writing ones starts something. Reads whether it still goes on.
    W1S = "w1s"


@dataclass(frozen=True)
class Field:
    """Some bits of a register.

    Attributes
    ----------
    name : :class:`str`
        Name, unique in its register.
    width : :class:`int`
        Width in bits. Fields follow each other from bit 0 up.
    doc : :class:`str`
        What it means.
    reset : :class:`int`
        Value after reset.
    """

    name: str
    width: int
    doc: str
    reset: int = 0


@dataclass(frozen=True)
class Register:
    """A register: one or more words, the least significant first.

    Attributes
    ----------
    name : :class:`str`
        Name, unique in its map.
    address : :class:`int`
        Address of the first word, in octets.
    access : :class:`Access`
        What reads and writes do.
    fields : :class:`tuple` of :class:`Field`
        From bit 0 up.
    doc : :class:`str`
        What it is for.
    """

    name: str
    address: int
    access: Access
    fields: tuple[Field, ...]
    doc: str

    @property
    def width(self) -> int:
        """Width in bits, without what is unused at the top of the last word."""
        return sum(item.width for item in self.fields)

    @property
    def words(self) -> int:
        """Number of words."""
        return -(-self.width // WORD_BITS)

    @property
    def reset(self) -> int:
        """Value of all fields after reset."""
        return self.pack({item.name: item.reset for item in self.fields})

    def pack(self, values: dict[str, int]) -> int:
        """Put fields together; those not given are 0.

        Raises
        ------
        ValueError
            If there is no such field, or a value does not fit.
        """
        known = {item.name: item.width for item in self.fields}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"register {self.name} has no field {name}")
            if not 0 <= value < 1 << known[name]:
                raise ValueError(
                    f"{self.name}.{name} must be from 0 to {(1 << known[name]) - 1:#x}, "
                    f"not {value:#x}"
                )
        number = 0
        for item in reversed(self.fields):
            number = number << item.width | values.get(item.name, 0)
        return number

    def unpack(self, number: int) -> dict[str, int]:
        """Take fields apart: the inverse of :meth:`pack`."""
        values = {}
        for item in self.fields:
            values[item.name] = number & (1 << item.width) - 1
            number >>= item.width
        return values

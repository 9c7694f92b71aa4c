"""What the driver asks of a bus."""

from typing import Protocol

__all__ = ["Bus"]


class Bus(Protocol):
    """Reads and writes words of 32 bits, one after the other."""

    async def read32(self, address: int) -> int:
        """Return the word at ``address``."""

    async def write32(self, address: int, value: int):
        """Change the word at ``address``; return when that is done."""

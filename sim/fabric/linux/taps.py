"""Ends of cables that a process holds in its hands: TAP devices."""

import fcntl
import os
import struct
from contextlib import suppress

from .namespaces import entered

__all__ = ["Tap", "create_tap"]

_TUNSETIFF, _TUNSETPERSIST = 0x4004_54CA, 0x4004_54CB
_TAP, _NO_HEADER = 0x0002, 0x1000

#: No frame is longer.
_MAX_OCTETS = 1 << 16


def create_tap(name: str) -> None:
    """Make a TAP device in the namespace that was entered; it stays until that is removed."""
    number = _open(name)
    try:
        fcntl.ioctl(number, _TUNSETPERSIST, 1)
    finally:
        os.close(number)


def _open(name: str) -> int:
    number = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(number, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP | _NO_HEADER))
    except OSError:
        os.close(number)
        raise
    return number


class Tap:
    """The far end of a TAP device: what is written here arrives there, and the other way.

    Parameters
    ----------
    namespace, name : :class:`str`
        Where the device is, and its name.
    """

    def __init__(self, namespace: str, name: str):
        with entered(namespace):
            self._number = _open(name)

    def fileno(self) -> int:
        """Return the file descriptor, for those who wait."""
        return self._number

    def write(self, frame: bytes) -> bool:
        """Send a frame; return whether the device takes it: one that is down does not."""
        try:
            os.write(self._number, frame)
        except OSError:
            return False
        return True

    def read(self) -> list[bytes]:
        """Return all frames that wait."""
        frames = []
        with suppress(OSError):  # none is left, or the device is down
            while True:
                frames.append(os.read(self._number, _MAX_OCTETS))
        return frames

    def close(self) -> None:
        """Let go of the device."""
        os.close(self._number)

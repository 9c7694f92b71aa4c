"""Network namespaces of this project: named after the process that owns them, and cleaned up."""

import contextlib
import ctypes
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "check_support",
    "entered",
    "list_namespaces",
    "new_prefix",
    "remove_leftovers",
    "remove_namespaces",
    "write_setting",
]

#: Where ``ip netns`` keeps names.
_FOLDER = Path("/var/run/netns")

_OWN = Path("/proc/thread-self/ns/net")

#: ``mrcnic-<pid>-<number>-<switch>``
_NAME = re.compile(r"(mrcnic-(\d+)-\d+-).+")

_CLONE_NEWNET = 0x4000_0000
_DETACH = 2

#: Bits of CAP_NET_ADMIN, and of CAP_SYS_ADMIN, which entering a namespace takes.
_NEEDED = 1 << 12 | 1 << 21

_numbers = itertools.count()
_in_use: set[str] = set()


def check_support() -> None:
    """See that namespaces and TAP devices can be made here.

    Raises
    ------
    RuntimeError
        If not: one sentence that says what is missing.
    """
    if not _OWN.exists():
        raise RuntimeError("the linux fabric needs a Linux kernel with network namespaces")
    status = Path("/proc/self/status").read_text()
    if int(status.partition("CapEff:")[2].split()[0], 16) & _NEEDED != _NEEDED:
        raise RuntimeError("the linux fabric needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)")
    if not shutil.which("ip"):
        raise RuntimeError("the linux fabric needs the program ip: apt-get install iproute2")
    if not Path("/dev/net/tun").exists():
        raise RuntimeError("the linux fabric needs /dev/net/tun: modprobe tun")
    if not Path("/proc/sys/net/ipv6/conf/all/seg6_enabled").exists():
        raise RuntimeError("the linux fabric needs a kernel with IPv6 and segment routing (seg6)")


def new_prefix() -> str:
    """Return what the names of a new network begin with."""
    prefix = f"mrcnic-{os.getpid()}-{next(_numbers)}-"
    _in_use.add(prefix)
    return prefix


def list_namespaces(prefix: str = "mrcnic-") -> list[str]:
    """Return the names of this project's namespaces that begin with ``prefix``."""
    if not _FOLDER.is_dir():
        return []
    names = (path.name for path in _FOLDER.iterdir())
    return sorted(name for name in names if _NAME.fullmatch(name) and name.startswith(prefix))


def remove_namespaces(prefix: str) -> None:
    """Remove the namespaces whose names begin with ``prefix``, with all that is in them."""
    from pyroute2 import netns  # only here: who removes nothing need not wait for it

    for name in list_namespaces(prefix):
        with contextlib.suppress(FileNotFoundError):  # another process cleans up as well
            netns.remove(name)
    _in_use.discard(prefix)


def remove_leftovers() -> None:
    """Remove namespaces whose owner has ended without doing so."""
    for name in list_namespaces():
        prefix, owner = _NAME.fullmatch(name).groups()
        # A number that was another's once is ours now.
        mine = int(owner) == os.getpid()
        if prefix not in _in_use if mine else not _lives(owner):
            remove_namespaces(prefix)


def _lives(pid: str) -> bool:
    try:
        status = Path("/proc", pid, "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@contextlib.contextmanager
def entered(name: str) -> Iterator[None]:
    """Let this thread work in a namespace: sockets and devices that it opens are there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with _OWN.open("rb") as home, (_FOLDER / name).open("rb") as there:
        _enter(libc, there)
        try:
            yield
        finally:
            _enter(libc, home)


def _enter(libc, namespace) -> None:
    if libc.setns(namespace.fileno(), _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), namespace.name)


def write_setting(name: str, value: int) -> None:
    """Set ``net.<name>``, with slashes, in the namespace that was entered."""
    Path("/proc/sys/net", name).write_text(f"{value}\n")

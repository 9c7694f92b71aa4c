"""What A is to write into B's memory, and whether that is what came of it."""

import hashlib
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate

from .host import Host
from .scoreboard import Scoreboard

__all__ = ["MARGIN", "SOURCE", "TARGET", "UNTOUCHED", "Message", "compare", "cut"]

#: Where the messages lie in A's memory, and where they go in B's.
SOURCE, TARGET = 0x1_0000, 0x2_0000

#: What all other memory holds, and must hold in the end.
UNTOUCHED = b"\xa5"

#: Memory behind the last target.
MARGIN = 4096


@dataclass(frozen=True, kw_only=True)
class Message:
    """One write.

    Attributes
    ----------
    qp : :class:`int`
        Which connection it takes.
    start, octets : :class:`int`
        Its place in the content.
    target : :class:`int`
        Its place behind :data:`TARGET`.
    immediate : :class:`int` or None
        What B is told.
    """

    qp: int
    start: int
    octets: int
    target: int
    immediate: int | None

    def of(self, content: bytes) -> bytes:
        """Return what it carries."""
        return content[self.start : self.start + self.octets]

    def at(self, memory: bytes) -> bytes:
        """Return what is where it goes."""
        start = TARGET + self.target
        return memory[start : start + self.octets]


def cut(spec: dict, octets: int, *, mtu: int, flight: int) -> list[Message]:
    """Cut the content into messages, which the QPs take in turn.

    Without ``lengths`` they have up to 16 packets. The last of each QP has an immediate, and so
    have those that ``immediates`` names.

    Parameters
    ----------
    octets : :class:`int`
        Length of the content.
    flight : :class:`int`
        Length of one message more for each QP, at the end; 0: there is none.
    """
    qps = spec["qps"]
    rest = octets - qps * flight
    size = max(1, min(16 * mtu, -(-rest // qps)))
    lengths = list(spec["lengths"]) or [min(size, rest - start) for start in range(0, rest, size)]
    qp_of = [n % qps for n in range(len(lengths))]
    last = {qp: n for n, qp in enumerate(qp_of)}
    told = {*last.values(), *spec["immediates"]}
    if flight:
        told.update(range(len(lengths), len(lengths) + qps))
        lengths += [flight] * qps
        qp_of += range(qps)
    return [
        Message(
            qp=qp,
            start=start,
            octets=length,
            target=start + n * spec["gap"],
            immediate=n if n in told else None,
        )
        for n, (qp, start, length) in enumerate(
            zip(qp_of, accumulate(lengths, initial=0), lengths, strict=False)
        )
    ]


def compare(
    messages: list[Message],
    statuses: dict[int, str],
    content: bytes,
    *,
    withheld: Collection[int] = (),
    source: int,
    hosts: dict[str, Host],
    receivers: list[int],
    model: Scoreboard,
    renewed: set[int],
) -> dict:
    """Compare memory and news with what was sent, and with the model.

    Parameters
    ----------
    statuses : dict of :class:`int` to :class:`str`
        How the messages ended, as far as they did.
    withheld : collection of :class:`int`
        Messages that were never posted.
    source : :class:`int`
        Where the content lies in A's memory.
    hosts
        Hosts by name.
    receivers : list of :class:`int`
        Index at B of each connection's QP.
    renewed : set of :class:`int`
        QPs that were destroyed in between: what was under way then may have arrived or not.
    """
    a, b = (host.contents() for host in hosts.values())
    expected = bytearray(UNTOUCHED * len(b))
    posted = [message for n, message in enumerate(messages) if n not in withheld]
    for message in posted:
        start = TARGET + message.target
        expected[start : start + message.octets] = message.at(b)
    before = bytearray(UNTOUCHED * len(a))
    before[source : source + len(content)] = content
    told = hosts["b"].immediates
    unclear = {
        n for n, message in enumerate(messages) if message.qp in renewed and statuses.get(n) != "OK"
    }
    region, modelled = bytearray(b[TARGET : TARGET + len(model.memory)]), bytearray(model.memory)
    for memory in (region, modelled):
        for n in unclear:
            start = messages[n].target
            memory[start : start + messages[n].octets] = bytes(messages[n].octets)
    skipped = {messages[n].immediate for n in unclear}
    sent = b"".join(message.of(content) for message in posted)
    arrived = b"".join(message.at(b) for message in posted)
    return {
        "sha256_sent": hashlib.sha256(sent).hexdigest(),
        "sha256_received": hashlib.sha256(arrived).hexdigest(),
        "memory_as_modelled": region == modelled,
        "rest_untouched": b == expected and a == before,
        "messages": len(posted),
        "statuses": [statuses.get(n) for n in range(len(messages))],
        "failed": sorted({status for status in statuses.values() if status != "OK"}),
        "wrong_messages": [
            n
            for n, message in enumerate(messages)
            if statuses.get(n) == "OK" and message.at(b) != message.of(content)
        ],
        "immediates_as_modelled": sorted(
            (i.immediate, i.octets) for i in told if i.immediate not in skipped
        )
        == sorted(i for i in model.immediates if i[0] not in skipped),
        **_immediates(messages, statuses, told, receivers),
        "verdicts": dict(model.verdicts),
    }


def _immediates(messages, statuses, told: deque, receivers) -> dict:
    """Look whether each QP's immediates came once each, in order."""
    complete = in_order = True
    for qp, index in enumerate(receivers):
        sent = [
            n
            for n, message in enumerate(messages)
            if message.qp == qp and message.immediate is not None
        ]
        came = [i.immediate for i in told if i.qp == index]
        # What has come may not be known to the sender, which has failed; the reverse cannot be.
        in_order &= came == [messages[n].immediate for n in sent if messages[n].immediate in came]
        complete &= set(came) >= {messages[n].immediate for n in sent if statuses.get(n) == "OK"}
    return {"immediates_complete": complete, "immediates_in_order": in_order}

"""What docstrings tell of members."""

import inspect
import re
from typing import Any, NamedTuple

__all__ = ["Entry", "documented_members"]


class Entry(NamedTuple):
    """Members that a docstring describes together.

    Attributes
    ----------
    names : tuple of :class:`str`
        Whole names; ``<p>`` stands for a number, ``*`` for anything.
    markup : :class:`str`
        What is said of them.
    """

    names: tuple[str, ...]
    markup: str

    @property
    def text(self) -> str:
        """What is said of them, without the marks of reStructuredText."""
        text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", self.markup)
        return text.replace("``", "")

    def group_of(self, member: str) -> str | None:
        """Return the start that a member shares with others of this entry, if it is one of them.

        Of a member that stands alone that is its name.

        Examples
        --------
        >>> Entry(("m_axi<p>_*", "clk"), "").group_of("m_axi1_arlen")
        'm_axi1'
        """
        for name in self.names:
            stem, _, tail = name.rpartition("_")
            stem, tail = (re.escape(one).replace("<p>", r"\d+") for one in (stem, tail))
            tail = tail.replace(r"\*", r"\w+")
            if match := re.fullmatch(f"({stem})_{tail}" if stem else f"({tail})", member):
                return match[1]
        return None


def documented_members(documented: Any) -> list[Entry]:
    """Return the entries under "Members" of a docstring.

    Of a list of AXI names, such as ``s_axis_x_tdata, tvalid``, the later ones have the start of the
    first. Where there is no text, what stands in place of the type is the text.
    """
    lines = (inspect.getdoc(documented) or "").splitlines()
    if "Members" not in lines:
        return []
    entries = []
    for line in lines[lines.index("Members") + 2 :]:
        if line.startswith("---"):
            entries.pop()  # the heading of the next section
            break
        if line.startswith(" "):
            entries[-1][2].append(line.strip())
        elif line:
            names, _, kind = line.partition(" : ")
            entries.append((_whole_names(names), kind, []))
    return [Entry(names, " ".join(text) or kind) for names, kind, text in entries]


def _whole_names(names: str) -> tuple[str, ...]:
    first, *others = names.split(", ")
    start = first.rpartition("_")[0] if re.match("[sm]_ax", first) else ""
    return first, *(f"{start}_{one}" if start and "_" not in one else one for one in others)

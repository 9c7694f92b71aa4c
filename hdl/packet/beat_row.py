"""Beats as memories keep them."""

from amaranth.lib import data

from .beat import Beat
from .keep import end_to_keep, keep_to_end

__all__ = ["BeatRow"]


class BeatRow(data.StructLayout):
    """A beat without what can be made again: ``keep`` and ``first``, every ninth bit.

    Parameters
    ----------
    layout : :class:`~mrcnic.hdl.packet.beat.Beat`
        Shape of the beats.

    Members
    -------
    data, last, user : as in the beat
    end : ``range(octets)``
        Place of the last octet; there is none in beats of one octet.
    """

    def __init__(self, layout: Beat):
        row = {"data": layout["data"].shape, "last": 1}
        if layout.octets > 1:
            row["end"] = range(layout.octets)
        if layout.user_shape is not None:
            row["user"] = layout.user_shape
        super().__init__(row)

    def store(self, beat: data.View, row: data.View):
        """Yield the assignments that make ``row`` of ``beat``."""
        yield row.data.eq(beat.data)
        yield row.last.eq(beat.last)
        if "user" in self.members:
            yield row.user.eq(beat.user)
        if "end" in self.members:
            yield row.end.eq(keep_to_end(beat.keep))

    def load(self, row: data.View, beat: data.View):
        """Yield the assignments that make ``beat`` of ``row``, all but ``first``."""
        yield beat.data.eq(row.data)
        yield beat.last.eq(row.last)
        if "user" in self.members:
            yield beat.user.eq(row.user)
        if "end" in self.members:
            yield beat.keep.eq(end_to_keep(row.end, len(beat.keep)))
        else:
            yield beat.keep.eq(1)

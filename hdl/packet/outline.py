"""Rooms that are converted to Verilog apart from what they stand in."""

from amaranth.hdl import ClockSignal, Elaboratable, Fragment, Instance, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Outlines", "outline"]


class Outlines:
    """A platform on which rooms become instances of modules that are converted elsewhere.

    Amaranth builds one netlist, bit by bit, of all that it converts at once. Rooms that are
    converted each on its own can be converted side by side.

    Parameters
    ----------
    prefix : :class:`str`
        What names of the modules start with.

    Attributes
    ----------
    rooms : :class:`dict` of :class:`str` to :class:`tuple`
        What has become an instance: component and fragment, by the name of the module.
    """

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.rooms: dict[str, tuple[wiring.Component, Fragment]] = {}


def outline(room: wiring.Component, name: str, platform) -> Elaboratable | Fragment:
    """Return what stands for ``room`` in its surroundings.

    On a platform of :class:`Outlines` that is an instance, to whose ports the members of ``room``
    are connected; on any other it is ``room`` itself.

    Parameters
    ----------
    room : :class:`~amaranth.lib.wiring.Component`
        Clocked by ``sync``, and by no other domain.
    name : :class:`str`
        Name of its kind. All rooms of one name are alike: the first is converted for all of them.
    """
    if not isinstance(platform, Outlines):
        return room
    module = f"{platform.prefix}_{name}"
    converted = (room, Fragment.get(room, platform))
    platform.rooms.setdefault(module, converted)
    ports = {
        f"{'i' if member.flow == In else 'o'}_{'__'.join(map(str, path))}": Value.cast(value)
        for path, member, value in room.signature.flatten(room)
    }
    return Instance(module, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)

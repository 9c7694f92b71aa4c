"""Neighbour solicitations for a port, answered without the host."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.packet.beat import packet_signature

from .advertiser import Advertiser
from .neighbour_filter import NeighbourFilter
from .reply_merger import ReplyMerger

__all__ = ["NEIGHBOUR_EVENTS", "NeighbourResponder"]

#: A solicitation was answered; a frame that looked like one was left to the host because a reply
#: was on its way.
NEIGHBOUR_EVENTS = ("solicitation_answered", "solicitation_not_looked_at")


class NeighbourResponder(wiring.Component):
    """Answer neighbour solicitations for a port's two addresses (RFC 4861, section 7.2).

    A solicitation for ``underlay`` or ``link_local`` that is valid (section 7.1.1) disappears from
    the host's frames, and an advertisement for it appears among those that the host sends: flag
    "override" and the port's MAC address in it, flag "solicited" unless the sender has no address
    yet, VLAN tags as received. It goes to the sender, or to all nodes if that has no address.

    Everything else passes untouched and in order: with settings that say so, solicitations that are
    not valid, for another address, with more than 16 octets of options or an address in them that
    is not the frame's source, octets behind the IPv6 packet, and those that come before the last
    reply has left. The host may answer these.

    A frame that looks like a solicitation keeps ``i`` waiting for 46 cycles; others pass at a beat
    per cycle. The reply is offered 90 cycles after the last beat. Replies and the host's frames
    take turns.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(packet_signature(beat_octets))``
        Frames from the lane for the host.
    o : ``Out(packet_signature(beat_octets))``
        Those that are left.
    host_i : ``In(packet_signature(beat_octets))``
        Frames from the host.
    host_o : ``Out(packet_signature(beat_octets))``
        The same, with replies between them.
    settings : ``In(LaneSettings(config))``
        ``neighbour_replies`` says whether there are any.
    events : ``Out(StructLayout(...))``
        One-cycle pulses, named in :data:`NEIGHBOUR_EVENTS`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        octets = config.beat_octets
        super().__init__({
            "i": In(packet_signature(octets)),
            "o": Out(packet_signature(octets)),
            "host_i": In(packet_signature(octets)),
            "host_o": Out(packet_signature(octets)),
            "settings": In(LaneSettings(config)),
            "events": Out(data.StructLayout(dict.fromkeys(NEIGHBOUR_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        m.submodules.filter = picker = NeighbourFilter(octets=octets)
        m.submodules.advertiser = advertiser = Advertiser(octets=octets)
        m.submodules.merger = merger = ReplyMerger(octets=octets)

        connect(m, flipped(self.i), picker.i)
        connect(m, picker.o, flipped(self.o))
        connect(m, flipped(self.host_i), merger.i_host)
        connect(m, advertiser.o, merger.i_reply)
        connect(m, merger.o, flipped(self.host_o))

        m.d.comb += picker.enable.eq(self.settings.neighbour_replies)
        m.d.comb += picker.free.eq(advertiser.free)
        m.d.comb += advertiser.settings.eq(self.settings.port)
        m.d.comb += advertiser.start.eq(picker.start)
        m.d.comb += advertiser.candidate.eq(picker.candidate)
        m.d.comb += picker.judged.eq(advertiser.judged)
        m.d.comb += picker.consume.eq(advertiser.consume)

        m.d.comb += self.events.solicitation_answered.eq(advertiser.judged & advertiser.consume)
        m.d.comb += self.events.solicitation_not_looked_at.eq(picker.passed)

        return m

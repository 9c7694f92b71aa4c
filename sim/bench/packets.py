"""Packets to beats and back."""

from collections.abc import Iterable

from amaranth.lib import data

from mrcnic.hdl.packet.beat import Beat

__all__ = ["from_beats", "to_beats"]


def to_beats(packet: bytes, layout: Beat, **user) -> list[data.Const]:
    """Cut ``packet`` into beats; ``user=...`` is put in all of them."""
    starts = range(0, len(packet), layout.octets)
    beats = []
    for start in starts:
        octets = packet[start : start + layout.octets]
        beats.append(
            layout.const({
                "data": octets.ljust(layout.octets, b"\0"),
                "keep": (1 << len(octets)) - 1,
                "first": start == starts[0],
                "last": start == starts[-1],
                **user,
            })
        )
    return beats


def from_beats(beats: Iterable[data.Const]) -> list[bytes]:
    """Join ``beats`` into packets, and check every rule of a beat on the way."""
    packets = []
    packet = None
    for beat in beats:
        octets = beat.keep.bit_count()
        assert octets > 0, "a beat has no octets"
        assert beat.keep == (1 << octets) - 1, f"keep {beat.keep:#x} has a gap"
        assert beat.last or octets == len(beat.data), "only the last beat may be partial"
        assert beat.first == (packet is None), "a packet starts where the one before it ended"
        packet = (packet or b"") + bytes(beat.data)[:octets]
        if beat.last:
            packets.append(packet)
            packet = None
    assert packet is None, "the last packet has no end"
    return packets

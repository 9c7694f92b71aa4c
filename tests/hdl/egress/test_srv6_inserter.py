# amaranth: UnusedElaboratable=no
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.egress.header_block import HeaderBlock
from mrcnic.hdl.egress.srv6_inserter import Srv6Inserter
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate

PACKET_OCTETS = 5000
TRAILER = bytes(4)
#: Of MRC, behind the headers of all formats; at octet 64 of a beat of 64; and odd ones.
LENGTHS = {
    "mrc": (14, 98, 102, 138, 142, 162, 178, 286),
    "few": (14,),
    "aligned": (64, 128, 192),
    "odd": (1, 15, 63, 65, 127, 200),
}


def reference(header, payload):
    return header + payload + bytes(-len(payload) % 4) + TRAILER


def blocks(octets, header, payload):
    starts = range(0, len(header), octets)
    return [
        HeaderBlock(octets, PACKET_OCTETS, 1).const({
            "octets": int.from_bytes(header[start : start + octets], "little"),
            "more": start != starts[-1],
            "length": len(header) % octets,
            "payload": payload != b"",
            "end": len(reference(header, payload)) - 1,
            "user": len(header) & 1,
        })
        for start in starts
    ]


def run(
    octets,
    packets,
    *,
    starts="mrc",
    header_pauses=(),
    payload_pauses=(),
    o_pauses=(),
    max_cycles=20_000,
):
    """Return the beats for packets of (header, payload)."""
    dut = Srv6Inserter(octets=octets, packet_octets=PACKET_OCTETS, starts=LENGTHS[starts])
    layout = Beat(octets)
    count = sum(-(-len(reference(*packet)) // octets) for packet in packets)
    received = []

    async def headers(ctx):
        beats = [block for packet in packets for block in blocks(octets, *packet)]
        await drive(ctx, dut.i, beats, pauses=header_pauses)

    async def payloads(ctx):
        beats = [beat for _, payload in packets for beat in to_beats(payload, layout)]
        # What is behind the end of payload in its last beat is none of the packet's business.
        dirty = [_soil(beat, layout) for beat in beats]
        await drive(ctx, dut.payload, dirty, pauses=payload_pauses)

    async def consumer(ctx):
        received.extend(await collect(ctx, dut.o, count, pauses=o_pauses))

    simulate(dut, headers, payloads, consumer, max_cycles=max_cycles)
    return received


def _soil(beat, layout):
    octets = [o if beat.keep >> n & 1 else 0xEE for n, o in enumerate(beat.data)]
    return layout.const({"data": octets, "keep": beat.keep, "first": beat.first, "last": beat.last})


def beats_of(octets, packets):
    return sum(-(-len(reference(*packet)) // octets) for packet in packets)


def check(beats, packets):
    assert from_beats(beats) == [reference(*packet) for packet in packets]
    users = [beat.user for beat in beats if beat.first]
    assert users == [len(header) & 1 for header, _ in packets]
    for beat in beats:  # nothing is left behind the end of a packet
        assert not any(bytes(beat.data)[beat.keep.bit_count() :])


@pytest.mark.parametrize("octets", [8, 32, 64, 128])
def test_every_header_before_every_tail_at_full_rate(octets):
    """Back to back, alternating between no encapsulation and more; one cycle for each beat."""
    rng = random.Random(octets)
    # No encapsulation, +40, +64, +80.
    starts = (98, 138, 162, 178) if octets == 64 else LENGTHS["mrc"]
    packets = [
        (rng.randbytes(start), rng.randbytes(length))
        for length in range(1, 131)
        for start in starts
    ]
    if octets != 64:
        packets = rng.sample(packets, 80)
    check(run(octets, packets, max_cycles=beats_of(octets, packets) + 1), packets)


@pytest.mark.parametrize("starts", ["few", "aligned", "odd"])
@pytest.mark.parametrize("octets", [8, 64, 128])
def test_other_headers_at_full_rate(octets, starts):
    """The plain inserter: one header of 14 octets, headers of whole beats, and any others."""
    rng = random.Random(octets)
    packets = [
        (rng.randbytes(start), rng.randbytes(length))
        for length in rng.sample(range(1, 3 * octets), 16)
        for start in LENGTHS[starts]
    ]
    beats = run(octets, packets, starts=starts, max_cycles=beats_of(octets, packets) + 1)
    check(beats, packets)


@pytest.mark.parametrize("total", [60, 61, 64, 65, 127, 128, 129, 1518, 4095, 4096, 4992])
def test_frames_of_all_lengths_at_full_rate(total):
    packets = [(bytes(range(14)), bytes(total - 18 - total % 4) + b"$" * (total % 4))] * 3
    beats = run(64, packets, starts="few", max_cycles=beats_of(64, packets) + 1)
    check(beats, packets)


@pytest.mark.parametrize("octets", [8, 64])
def test_headers_alone(octets):
    """They may have any length, and are one beat if they fit."""
    packets = [(bytes(range(1, length + 1)), b"") for length in range(1, 151, 3)]
    check(run(octets, packets, max_cycles=beats_of(octets, packets) + 1), packets)


@settings(max_examples=12)
@given(
    packets=st.lists(
        st.tuples(st.sampled_from(LENGTHS["mrc"]), st.integers(0, 70)), min_size=1, max_size=6
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_pauses_change_nothing(packets, seed):
    rng = random.Random(seed)
    packets = [(rng.randbytes(start), rng.randbytes(length)) for start, length in packets]

    def pauses():
        while True:
            yield rng.choice([0, 0, 0, 1, 5])

    beats = run(
        8, packets, header_pauses=pauses(), payload_pauses=pauses(), o_pauses=pauses(),
        max_cycles=5_000,
    )  # fmt: skip
    check(beats, packets)


def test_a_stalled_sink_loses_nothing():
    packets = [(bytes(138), bytes(256)), (bytes(98), bytes(100) + b"$")]
    check(run(8, packets, o_pauses=[300, 0, 0, 50]), packets)


def test_the_end_needs_no_input():
    """The residue of the last beat goes out though nothing else comes in."""
    for length in range(20, 28):
        packet = (bytes(98), b"x" * length)
        check(run(8, [packet], max_cycles=beats_of(8, [packet]) + 1), [packet])


@pytest.mark.parametrize("starts", [(), (0, 14)])
def test_starts_are_behind_headers(starts):
    with pytest.raises(ValueError, match=r"^starts must be at least 1 each, not \("):
        Srv6Inserter(octets=8, packet_octets=1000, starts=starts)

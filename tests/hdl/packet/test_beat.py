import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.sim.bench.packets import from_beats, to_beats


def test_signature_is_a_stream_of_beats():
    assert packet_signature(8).create().payload.shape() == Beat(8)


@pytest.mark.parametrize("octets", [0, -8, 12])
def test_octets_must_be_a_power_of_two(octets):
    with pytest.raises(ValueError, match="power of two"):
        Beat(octets)


@given(st.lists(st.binary(min_size=1, max_size=100)), st.sampled_from([1, 8, 64]))
def test_packets_survive_being_cut(packets, octets):
    beats = [beat for packet in packets for beat in to_beats(packet, Beat(octets))]
    assert from_beats(beats) == packets

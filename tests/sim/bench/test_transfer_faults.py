"""Two whole NICs where something is wrong for good, or for long: no request may hang."""

import pytest
from transfer_runs import count, run, run_to_the_end

#: Cycles in which each of these transfers must have ended.
MAX_CYCLES = 60_000

FEW_RETRIES = {"timeout": 3, "linear_count": 1, "exponential_count": 2}


@pytest.mark.parametrize(
    "failures",
    [("p0t01@3us", "p1t01@3us"), ("a0@3us", "a1@3us")],
    ids=["the peer cannot be reached", "all ports are down"],
)
def test_retries_run_out(failures):
    result = run_to_the_end(
        qps=2, mtu=256, lengths=(4 * 256,) * 8, failures=failures, max_cycles=MAX_CYCLES,
        **FEW_RETRIES,
    )  # fmt: skip
    for qp in range(2):
        first, *others = result["statuses"][qp::2]
        assert first == "RETRY_EXCEEDED"
        assert others == ["FLUSHED"] * 3
    assert count(result, "a", "requester_qp_failed") == 2


def test_wrong_key_and_wrong_address_end_their_qp_alone():
    result = run_to_the_end(
        qps=3, mtu=256, lengths=(700,) * 12, spoiled=((3, "rkey"), (4, "address")),
        max_cycles=MAX_CYCLES,
    )  # fmt: skip
    for qp in (0, 1):
        # A refusal counts the messages before it whose data is in memory by then.
        statuses = result["statuses"][qp::3]
        refused = statuses.index("REMOTE_ACCESS")
        assert refused <= 1
        assert statuses == ["OK"] * refused + ["REMOTE_ACCESS"] + ["FLUSHED"] * (3 - refused)
    assert result["statuses"][2::3] == ["OK"] * 4
    assert count(result, "b", "responder_rx_access_refused") == 2
    assert result["rest_untouched"]


def test_a_qp_that_is_not_there_refuses():
    result = run_to_the_end(
        qps=2, mtu=256, lengths=(700,) * 8, spoiled=((2, "qp"),), max_cycles=MAX_CYCLES
    )
    assert result["statuses"] == ["OK", "OK", "REFUSED", *["OK"] * 5]
    assert result["resends"] == 0


def test_all_ports_down_for_a_while():
    result = run(qps=4, mtu=1024, size=64 << 10, failures=("a0@3us-25us", "a1@4us-28us"))
    assert count(result, "a", "port_up") == 4
    assert count(result, "a", "retransmit_resend_hole") == 0
    assert count(result, "a", "spray_ev_retired") == 0


def test_memory_of_the_receiver_stands_still():
    """Payload that finds no room is reported, and sent again."""
    result = run(qps=4, mtu=1024, size=192 << 10, cwnd=1 << 20, stalls=(("b", 3.0, 20.0),))
    refused = count(result, "b", "responder_rx_no_room")
    assert refused > 0
    assert count(result, "a", "retransmit_resend_nack") >= refused
    assert count(result, "a", "spray_ev_retired") == 0


def test_memory_of_the_sender_stands_still():
    """Frames are sent whole once their payload is there, and nothing twice."""
    result = run(qps=4, mtu=4096, size=128 << 10, stalls=(("a", 1.0, 6.0), ("a", 8.0, 9.0)))
    assert result["resends"] == 0


def test_few_octets_at_every_address():
    lengths = tuple(1 + n % 5 for n in range(70))
    result = run(qps=3, mtu=256, lengths=lengths, skew=3)
    assert result["resends"] == 0
    assert result["packets"] == 70


def test_every_qp_with_a_window_of_one_packet():
    result = run(qps=16, mtu=256, lengths=(4 * 256,) * 32, cwnd=300)
    assert result["resends"] == 0
    planes = result["packets_per_plane"]
    assert max(planes) - min(planes) <= 16


def test_the_peer_loses_a_plane():
    """A resend takes the other plane, so no packet is lost there more than once."""
    result = run(qps=4, mtu=1024, size=128 << 10, failures=("p0t01@3us",))
    assert result["resends"] <= result["drops_by_cause"]["link_down"]
    assert result["simulated_us"] < 120

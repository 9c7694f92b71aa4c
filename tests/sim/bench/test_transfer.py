"""Two whole NICs and a fabric that does its worst."""

from transfer_runs import count, run


def test_without_loss_nothing_is_sent_twice():
    result = run(size=256 << 10)
    assert result["resends"] == result["drops"] == 0
    assert result["packets"] == 64
    assert result["verdicts"] == {"NEW": 64}
    # Equal shares: planes within a packet, and each EV once in a rotation.
    assert max(result["packets_per_plane"]) - min(result["packets_per_plane"]) <= 1
    assert max(result["packets_per_ev"]) - min(result["packets_per_ev"]) <= 4


def test_each_packet_of_eight_lost_first_and_again():
    """Sixteen QPs, each with a misfortune of its own: PSN k lost once, or once more."""
    losses = [("WRITE", n, n % 8, 1 + n // 8) for n in range(16)]
    result = run(qps=16, mtu=256, lengths=(8 * 256,) * 16, losses=tuple(losses))
    assert result["drops"] == 8 + 2 * 8
    assert result["packets"] == 16 * 8 + result["resends"]
    assert result["resends"] >= result["drops"]


def test_lost_reports_cost_nothing_but_time():
    """SACKs and ACKs are lost, data is not: it may be sent again, and is placed once."""
    losses = [("SACK", n, k, 1) for n in range(4) for k in range(3)]
    losses += [("ACK", n, k, 1) for n in range(4) for k in range(2)]
    result = run(qps=4, mtu=256, lengths=(8 * 256,) * 4, losses=tuple(losses))
    assert result["drops"] >= 4
    assert result["verdicts"]["NEW"] == 4 * 8


def test_everything_goes_wrong_at_the_wrap_of_psns():
    result = run(
        size=64 << 10, qps=8, mtu=256, psn=0xFFFFF0, drop=0.02, duplicate=0.05, reorder=0.1
    )
    assert result["drops"] > 0
    assert result["resends"] > 0
    assert result["verdicts"]["NEW"] == 256
    assert count(result, "b", "responder_rx_duplicate") == result["verdicts"]["DUPLICATE"]


def test_every_length_around_the_seams():
    lengths = sorted({length for k in range(1, 5) for length in (64 * k - 1, 64 * k, 64 * k + 1)})
    result = run(qps=4, mtu=256, lengths=(*range(1, 8), *lengths))
    assert result["resends"] == 0


def test_window_smaller_than_the_flight():
    """A packet that is lost twice holds a window of 128 PSNs up; none is sent beyond it."""
    result = run(qps=1, mtu=256, size=400 * 256, cwnd=10**6, mpr=1, losses=(("WRITE", 0, 3, 2),))
    assert result["verdicts"]["NEW"] == 400
    assert count(result, "b", "responder_rx_beyond_window") == 0
    # It takes 16 us to see a loss (1.25 base RTT and the target delay), and there are two; without
    # the limit, 400 packets are there in 10 us.
    assert result["simulated_us"] > 10 + 2 * 16


def test_switch_dies_on_the_way():
    result = run(size=512 << 10, qps=4, failures=("p0t10@10us",))
    assert result["drops"] > 0
    # An eighth of the EVs, and what answers come by: until each has lost a packet, or its SACK.
    assert result["drops"] < result["packets"] / 3


def test_port_dies_on_the_way():
    """The other plane takes everything over."""
    result = run(size=256 << 10, qps=4, failures=("a0@8us",))
    assert result["packets_per_plane"][1] > result["packets_per_plane"][0]
    assert count(result, "a", "port_down") == 1


def test_plain_ipv6():
    result = run(size=32 << 10, srv6=False, drop=0.02)
    assert result["packets_per_plane"][0] > 0


def test_tiny_nic_on_icarus():
    result = run(preset="tiny", simulator="icarus", size=3000, qps=2)
    assert result["resends"] == 0

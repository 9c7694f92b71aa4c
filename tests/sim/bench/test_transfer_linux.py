"""Two whole NICs, and the Linux kernel between them."""

import pytest
from kernel_networks import need_kernel_network
from transfer_runs import count, run


def test_figures_are_those_of_the_model():
    """Every packet takes the same time on the same way, to the last cycle."""
    need_kernel_network()
    what = {"size": 64 << 10, "mtu": 256, "drop": 0.02, "duplicate": 0.02, "reorder": 0.05}
    linux, model = run(fabric="linux", **what), run(**what)
    assert model["foreign_frames"] == 0
    linux["foreign_frames"] = 0  # what a kernel says by itself, and when, is its own affair
    assert linux == model
    assert linux["resends"] > 0


@pytest.mark.parametrize("what", ["p0t10", "a1-p1t00"])
def test_switch_or_port_dies_on_the_way(what):
    need_kernel_network()
    result = run(size=256 << 10, fabric="linux", failures=(f"{what}@8us",))
    assert result["drops_by_cause"].keys() == {"link_down"}
    assert count(result, "a", "port_down") == (what == "a1-p1t00")
    assert [event["what"] for event in result["series"]["events"]] == [f"{what} down"]

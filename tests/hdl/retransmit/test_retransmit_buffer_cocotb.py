import json

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.buffer import RetransmitBuffer
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench

# 8,192 PSNs under way: more than Amaranth writes out, so the deep memory is in it too.
SIZES = {"beat_octets": 64, "mtu": 256, "slots": 16, "window": 128, "qps": 64, "evs": 16}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_retransmit_buffer(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        RetransmitBuffer(NicConfig(**SIZES)),
        "tb_retransmit_buffer",
        simulator=simulator,
        build_dir=tmp_path,
        env={"CONFIG": json.dumps(SIZES)},
    )

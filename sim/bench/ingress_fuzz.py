"""A campaign of mutated frames against a receiving lane, on Verilator."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.ingress.frame import MAX_FRAME_OCTETS
from mrcnic.hdl.ingress.host_path import host_beats
from mrcnic.hdl.ingress.lane import IngressLane

from .convert import to_verilog
from .runner import compile_design, run_design

__all__ = ["FuzzReport", "fuzz_ingress"]

#: The bench sees the ports of the lane, and nothing else: a simulation is much faster so.
_CONTROL = '`verilator_config\npublic_flat_rw -module "lane" -var "*"\n'


@dataclass(frozen=True)
class FuzzReport:
    """What a campaign was.

    Attributes
    ----------
    seed : :class:`int`
        It makes the same frames again.
    frames, beats : :class:`int`
        Frames sent, good ones included, and beats of them.
    events : :class:`dict` of :class:`str` to :class:`int`
        How often each event of the lane was.
    """

    seed: int
    frames: int
    beats: int
    events: dict[str, int]


def fuzz_ingress(config: NicConfig, *, mutated: int, seed: int, build_dir: Path) -> FuzzReport:
    """Send ``mutated`` mutated frames through a lane, with good ones between them.

    Parameters
    ----------
    seed : :class:`int`
        Of the frames.
    build_dir : :class:`~pathlib.Path`
        An empty folder.

    Raises
    ------
    ValueError
        If the host's buffer is too small for the longest frames, so that some would be dropped.
    AssertionError
        If a frame has another fate than the reference says, anything that comes out is not as it
        should be, or the lane hangs.
    """
    buffer_octets = host_beats(config) * config.beat_octets
    if buffer_octets < 2 * MAX_FRAME_OCTETS:
        raise ValueError(
            f"the host's buffer must have at least {2 * MAX_FRAME_OCTETS} octets, not "
            f"{buffer_octets}: choose an mtu above 1500"
        )
    control, source, report = (build_dir / name for name in ("lane.vlt", "lane.v", "report.json"))
    control.write_text(_CONTROL)
    source.write_text(to_verilog(IngressLane(config), name="lane"))
    compile_design(
        [control, source], top="lane", simulator="verilator", build_dir=build_dir, lean=True
    )
    env = {
        "CONFIG": json.dumps(asdict(config)),
        "MUTATED": str(mutated),
        "SEED": str(seed),
        "REPORT": str(report),
    }
    run_design(
        "mrcnic.sim.bench.tb_ingress_fuzz",
        top="lane",
        simulator="verilator",
        build_dir=build_dir,
        env=env,
    )
    return FuzzReport(seed=seed, **json.loads(report.read_text()))

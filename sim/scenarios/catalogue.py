"""All scenarios, by name."""

from .all_paths_dead import ALL_PATHS_DEAD
from .ecn_hotspot import ECN_HOTSPOT
from .link_dies import LINK_DIES
from .lossy_path import LOSSY_PATH
from .path_dies import PATH_DIES
from .port_dies import PORT_DIES
from .port_flaps import PORT_FLAPS
from .scenario import Scenario
from .t1_reboot import T1_REBOOT

__all__ = ["SCENARIOS"]

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        PATH_DIES, LINK_DIES, T1_REBOOT, PORT_DIES, PORT_FLAPS, LOSSY_PATH, ECN_HOTSPOT,
        ALL_PATHS_DEAD,
    )
}  # fmt: skip

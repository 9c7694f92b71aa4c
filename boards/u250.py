"""AMD Alveo U250.

Part: open-nic-shell (940907fc); taxi and corundum write -2-e. CMAC and transceiver sites: all
three.
"""

from .alveo_u2x0 import AlveoU2x0Platform
from .parts import Cage

__all__ = ["U250Platform"]


class U250Platform(AlveoU2x0Platform):
    """AMD Alveo U250."""

    device = "xcu250"
    package = "figd2104"
    speed = "2L-e"
    cages = (
        Cage(gt_group="X1Y44~X1Y47", quad=231, cmac="CMACE4_X0Y8", refclk_hz=156_250_000),
        Cage(gt_group="X1Y40~X1Y43", quad=230, cmac="CMACE4_X0Y7", refclk_hz=156_250_000),
    )

"""AMD Alveo U200.

CMAC sites: taxi (2f2fe728). Others take Y8 and Y7, or Y6 and Y7, for the same transceivers.
"""

from .alveo_u2x0 import AlveoU2x0Platform
from .parts import Cage

__all__ = ["U200Platform"]


class U200Platform(AlveoU2x0Platform):
    """AMD Alveo U200."""

    device = "xcu200"
    package = "fsgd2104"
    speed = "2-e"
    cages = (
        Cage(gt_group="X1Y48~X1Y51", quad=231, cmac="CMACE4_X0Y7", refclk_hz=156_250_000),
        Cage(gt_group="X1Y44~X1Y47", quad=230, cmac="CMACE4_X0Y6", refclk_hz=156_250_000),
    )

"""LambdaConcept ECPIX-5 with the larger part.

Pins: amaranth-boards 0.0.21.
"""

from amaranth_boards.ecpix5 import ECPIX585Platform

__all__ = ["Ecpix5Platform"]


class Ecpix5Platform(ECPIX585Platform):
    """LambdaConcept ECPIX-5 85F, which has no cage of the speed that is needed."""

    cages = ()
    pcie = None
    # 100 MHz / 5 * 4, and an oscillator of 560 MHz.
    pll = (5, 4, 7)
    fabric_hz = 80_000_000

    def __init__(self):
        super().__init__(toolchain="Trellis")

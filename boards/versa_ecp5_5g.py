"""Lattice ECP5-5G Versa.

Pins: amaranth-boards 0.0.21.
"""

from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform

__all__ = ["VersaEcp55gPlatform"]


class VersaEcp55gPlatform(VersaECP55GPlatform):
    """Lattice ECP5-5G Versa, which has no cage of the speed that is needed."""

    cages = ()
    pcie = None
    # 100 MHz / 5 * 4, and an oscillator of 560 MHz.
    pll = (5, 4, 7)
    fabric_hz = 80_000_000

    def __init__(self):
        super().__init__(toolchain="Trellis")

"""Lattice ECP5-5G Versa.

Pins: amaranth-boards 0.0.21.
"""

from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform

__all__ = ["VersaEcp55gPlatform"]


class VersaEcp55gPlatform(VersaECP55GPlatform):
    """Lattice ECP5-5G Versa, which has no cage of the speed that is needed."""

    cages = ()
    pcie = None

    def __init__(self):
        super().__init__(toolchain="Trellis")

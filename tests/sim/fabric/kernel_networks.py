"""Networks of the kernel for tests."""

import pytest

from mrcnic.sim.fabric.linux.namespaces import check_support

__all__ = ["need_kernel_network"]


def need_kernel_network():
    """Skip the test where the kernel cannot be the fabric."""
    try:
        check_support()
    except RuntimeError as error:
        pytest.skip(str(error))

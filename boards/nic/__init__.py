"""The NIC on a board: a hard MAC for each cage, and PCIe."""

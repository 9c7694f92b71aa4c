"""Gateware: the NIC in Amaranth."""

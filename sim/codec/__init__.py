"""Packets as Python objects: octets to fields and back."""

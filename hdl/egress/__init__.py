"""One lane outwards: descriptors and payload to frames."""

"""Whether a port can be used."""

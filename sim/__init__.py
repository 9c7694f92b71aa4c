"""Everything around the gateware: codec, models, fabric, benches, command line."""

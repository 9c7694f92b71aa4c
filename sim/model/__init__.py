"""Reference behaviour of the transport in plain Python: no gateware, no clock."""

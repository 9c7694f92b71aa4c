"""The edge between a lane and its MAC: clocks crossed, lengths checked, neighbours answered."""

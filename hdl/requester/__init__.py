"""The sending half of the transport: segmentation, windows, acknowledgements, completions."""

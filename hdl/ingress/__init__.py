"""One lane inwards: frames to checked descriptors and payload."""

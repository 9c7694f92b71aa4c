"""Links and uN switches that lose, delay and fail."""

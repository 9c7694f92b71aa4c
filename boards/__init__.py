"""Boards: platforms, tops, and what makes and loads their bitstreams."""

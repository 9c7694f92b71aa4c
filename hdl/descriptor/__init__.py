"""Layouts that rooms exchange. No logic.

Shapes that depend on sizes are functions of the :class:`~mrcnic.hdl.config.NicConfig`.
"""

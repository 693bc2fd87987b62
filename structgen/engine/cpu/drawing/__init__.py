"""Draws of tokens in compiled code, many rows in one call."""

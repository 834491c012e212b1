"""Checkouts: a hosted page around a deposit that does not exist until the customer picks a method."""

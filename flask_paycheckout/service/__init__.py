"""Calls to the payments service: how many at once, how patiently, and how it answered."""

"""Faults planted into the product on purpose, each of which a test must notice."""

"""Frozen records of the service's responses: one module per resource."""

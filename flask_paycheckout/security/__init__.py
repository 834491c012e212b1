"""Checks of whatever a browser brings: sealed links, origins, permission."""

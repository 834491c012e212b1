"""Checks of untrusted input from browsers: signed links, origins, and permission for the owner's pages."""

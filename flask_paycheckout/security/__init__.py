"""Checks of untrusted input from browsers: signed links, origins, secrets, and permission for the owner's pages."""

"""Access to a shared sandbox."""

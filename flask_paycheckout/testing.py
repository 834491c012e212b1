"""Pytest fixtures: the sandbox in process, and what was signalled."""

"""The Django application of the peers' shops."""

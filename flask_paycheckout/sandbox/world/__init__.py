"""One sandbox's world: its clock, identifiers, settings, assumptions about the service, and its database."""

"""The foundation of a sandbox: clock, identifiers, settings, assumptions about the service, and database."""

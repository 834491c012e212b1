"""Pure rules: states, agreement of money, schedules. No web, no database, no service."""

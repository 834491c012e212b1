"""Pure rules: states, comparison of money, schedules. They use no web framework, no database and no service."""

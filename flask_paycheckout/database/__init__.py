"""The shop's database: its session, its clock, locks, and what all tables share."""

"""Measuring programs, one for each row of a table. They are not tests: each prints figures measured side by side."""

"""Programs that measure, one for each row of a table. They are no tests: each prints figures taken side by side."""

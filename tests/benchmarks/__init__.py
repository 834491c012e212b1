"""Programs that measure. They are no tests: each prints figures taken side by side in one run."""

"""Users of the service: they register and log in with a password, then with a one-time password sent by mail."""

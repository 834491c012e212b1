"""Users of the service, who log in with a password and a mailed one-time password; and who may call an operation."""

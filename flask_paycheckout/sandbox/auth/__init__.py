"""Users of the service, their login with password and mailed one-time password, and the access to operations."""

"""Checks that shop, database and service can work together: `flask paycheckout doctor`."""

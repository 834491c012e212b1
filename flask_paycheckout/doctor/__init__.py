"""The checks behind `flask paycheckout doctor`: settings, database, service, receivers, webhooks and open alarms."""

"""What the service answers with: one module of frozen records per resource."""

"""What can be asked of the service: one module of paths and verbs per resource."""

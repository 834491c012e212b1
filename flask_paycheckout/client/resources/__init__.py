"""Methods of the client: one module of paths and verbs per resource."""

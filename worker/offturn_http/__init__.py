"""HTTP over the client: one process serves all tenants, and decides nothing that the client decides."""

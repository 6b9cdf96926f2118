"""The session store: Redis keys changed by Lua scripts only, one file per operation."""

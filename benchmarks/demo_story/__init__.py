"""The demo's story: who says what (TOML), the tools that answer, and the files the scratch copy starts with."""

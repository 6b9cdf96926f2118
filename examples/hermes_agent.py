"""Hermes Agent with offturn as its context engine.

Run by Hermes's own Python, in which offturn is installed too:
`OFFTURN_STORE_URL=... python examples/hermes_agent.py BASE_URL TURNS` talks to an OpenAI-compatible server, and waits for
Enter after each turn. The two settings below are what your `config.yaml` needs; a worker (`offturn local` has one)
compacts elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

CONFIG = """
plugins: {enabled: [offturn]}
context: {engine: offturn}
model: {context_length: 64000}
"""
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 200


def main(base_url: str, turns: int) -> None:
    home = Path(os.environ.setdefault("HERMES_HOME", tempfile.mkdtemp()))
    (home / "config.yaml").write_text(CONFIG)

    from hermes_cli.plugins import discover_plugins
    from hermes_state import SessionDB
    from run_agent import AIAgent

    discover_plugins()
    agent = AIAgent(
        base_url=base_url,
        api_key="none",
        model="fake",
        quiet_mode=True,
        session_id="demo",
        session_db=SessionDB(),
        enabled_toolsets=[],
        skip_context_files=True,
        skip_memory=True,
    )
    history = None
    for number in range(turns):
        result = agent.run_conversation(f"What went wrong in run {number}?\n{LOG}", conversation_history=history)
        history = result["messages"]
        engine = agent.context_compressor
        print(
            json.dumps({"engine": engine.name, "count": engine.compression_count, "messages": len(history)}), flush=True
        )
        sys.stdin.readline()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: hermes_agent.py BASE_URL TURNS")
    main(sys.argv[1], int(sys.argv[2]))

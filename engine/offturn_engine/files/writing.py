"""Compacted messages as the file they came from held them, where a host could load that again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from offturn_engine.files.conversation import Conversation
from offturn_engine.messages import RawMessage


def written(conversation: Conversation, messages: Sequence[RawMessage]) -> str:
    """The text of a file: JSON lines, the object with its other fields, or a list; of a host's log a list, too."""
    if conversation.layout == "lines":
        return "".join(json.dumps(message) + "\n" for message in messages)
    whole = {**conversation.wrapper, "messages": [*messages]} if conversation.layout == "object" else [*messages]
    return json.dumps(whole, indent=1) + "\n"

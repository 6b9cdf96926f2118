"""Runs inside the environment of an exact tokenizer: what it counts in a list of texts, and how long that takes it.

python exact_in_venv.py FILE ROUNDS. Prints {"tokens": of the o200k vocabulary, "seconds": [CPU seconds of each round]}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(file: str, rounds: str) -> None:
    import quicktok

    texts = json.loads(Path(file).read_text(encoding="utf-8"))
    counter = quicktok.get_encoding("o200k_base")
    tokens, seconds = sum(counter.count(text) for text in texts), []
    for _ in range(int(rounds)):
        began = time.process_time()
        for text in texts:
            counter.count(text)
        seconds.append(time.process_time() - began)
    print(json.dumps({"tokens": tokens, "seconds": seconds}))


main(*sys.argv[1:])

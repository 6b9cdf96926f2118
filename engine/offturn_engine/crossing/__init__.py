"""A view in another format than its session's: `convert(messages, source, target, system)`.

What is said goes over word for word, calls with their results. What only its own provider can read does not: reasoning,
items of a kind no other format has, media a format cannot hold. All of that is counted.
"""

from __future__ import annotations

from offturn_engine.crossing.converting import Converted, convert

__all__ = ["Converted", "convert"]

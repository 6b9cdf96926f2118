"""Why a summarizer's answer is refused: rule names, and what a repair is told about each.

A refusal carries these names and nothing of the answer. Source of the rules: failures seen from real models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Rule = Literal[
    "empty",
    "refused",
    "error-text",
    "cut",
    "impersonation",
    "template-leak",
    "looping",
    "copied-section",
    "conversational",
    "missing-sections",
    "empty-sections",
    "wrong-language",
    "over-budget",
    "contradicted",
    "mutated",
    "ungrounded",
]

REMEDIES: Mapping[Rule, str] = {
    "empty": "It held no text.",
    "refused": "It declined the task.",
    "error-text": "It was an error message, not a record.",
    "cut": "It stopped before its end. Write less, and finish every section.",
    "impersonation": "It continued the transcript. Write no role tags, no record labels, no tool calls and no headings of your own.",
    "template-leak": "It held control tokens, placeholders or the guidance instead of content.",
    "looping": "It repeated itself. State each fact once.",
    "copied-section": "It put the same text into several sections. Each fact belongs to one section.",
    "conversational": "It talked to somebody. Write the record only: no greeting, offer or question to a reader.",
    "missing-sections": "Headings were missing. Write every heading exactly as given, in the given order.",
    "empty-sections": "Most sections held nothing. Fill those the text has something for, the goal always.",
    "wrong-language": "It was in another language than the user's.",
    "over-budget": "It was too long. Keep what someone needs to continue, drop the rest.",
    "contradicted": "It said the opposite of what the user said: a 'not' was dropped or added, or a value exchanged. Record what the user wants and forbids as they said it last.",
    "mutated": "It changed an amount, a path or a name in something the user demanded. Copy them exactly.",
    "ungrounded": "It named paths, links, numbers, identifiers or decisions that are not in the text. Copy them exactly or leave them out.",
}
"""In the order in which reasons are reported: the most telling first."""

HOPELESS: frozenset[Rule] = frozenset({"empty", "refused", "error-text"})
"""Asking the same model again would not help: the next route is tried."""

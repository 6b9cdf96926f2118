"""The chain hash stands for the whole log up to a seq."""

from __future__ import annotations

from offturn_engine.chain import EMPTY, chain, digest, link

ENTRIES = [digest({"role": "user", "content": str(i)}, "human", None) for i in range(4)]


def test_a_chain_is_its_links() -> None:
    assert chain(ENTRIES[:2]) == link(link(EMPTY, ENTRIES[0]), ENTRIES[1])


def test_a_chain_goes_on_where_it_stopped() -> None:
    assert chain(ENTRIES[2:], start=chain(ENTRIES[:2])) == chain(ENTRIES)


def test_order_matters() -> None:
    assert chain(ENTRIES) != chain(reversed(ENTRIES))


def test_key_order_does_not() -> None:
    assert digest({"role": "user", "content": "x"}, "human", None) == digest(
        {"content": "x", "role": "user"}, "human", None
    )

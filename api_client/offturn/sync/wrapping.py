"""How a coroutine method becomes a blocking one: the same signature, run on the background loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from offturn.background import Background

A = TypeVar("A", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


class Wrapper(Generic[A]):
    """Something async, and the loop it runs on."""

    def __init__(self, inner: A, loop: Background) -> None:
        self._inner = inner
        self._loop = loop

    def __repr__(self) -> str:
        return repr(self._inner)


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Wrapper[A], P], T]:
    """The method of the wrapper that does what this one does."""

    @wraps(method)
    def call(self: Wrapper[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._inner, *args, **kwargs))

    return call


def blocking_as(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], made: Callable[[T, Background], U]
) -> Callable[Concatenate[Wrapper[A], P], U]:
    """The same for one that returns something async: `made` wraps that."""

    @wraps(method)
    def call(self: Wrapper[A], /, *args: P.args, **kwargs: P.kwargs) -> U:
        return made(self._loop.run(method(self._inner, *args, **kwargs)), self._loop)

    return call


def on_loop(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Wrapper[A], P], T]:
    """The same for a method that is no coroutine, and reads or changes what the loop's thread does."""

    @wraps(method)
    def call(self: Wrapper[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def asked() -> T:
            return method(self._inner, *args, **kwargs)

        return self._loop.run(asked())

    return call


def wrapped(
    method: Callable[Concatenate[A, P], T], made: Callable[[T, Background], U]
) -> Callable[Concatenate[Wrapper[A], P], U]:
    """The same for one that makes something async."""
    asked = on_loop(method)

    @wraps(method)
    def call(self: Wrapper[A], /, *args: P.args, **kwargs: P.kwargs) -> U:
        return made(asked(self, *args, **kwargs), self._loop)

    return call

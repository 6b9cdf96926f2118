"""What requests and answers of more than one topic are made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from offturn import View
from offturn_http.cursors import cursor_after, view_name
from offturn_http.wire import Answer, Given, shallow

Window = Annotated[int, Field(ge=1, le=1_000_000_000, description="tokens")]
Name = Annotated[str, Field(min_length=1, max_length=256)]
Ref = Annotated[
    int | str, Field(description="a message: its seq as a number, or your own id as text; the handle m12 is of seq 12")
]
Cursor = Annotated[str | None, Field(description="where the session is now; null: it holds nothing")]
Warnings = Annotated[list[str], Field(description="sentences without content")]
JsonObject = dict[str, Any]
Shallow = Annotated[Any, AfterValidator(shallow)]


class SessionGiven(Given):
    """What the first record stores of a session. Later requests do not change it: see `configure`."""

    format: str = Field(description="of the messages", examples=["openai-chat"], max_length=64)
    policy: str = Field(default="balanced", max_length=64)
    overrides: JsonObject = Field(default_factory=dict, description="parameters of the policy, as in `trigger.soft`")
    model: str | None = Field(default=None, max_length=256, description="the one you call, as PROVIDER:MODEL")
    window: Window | None = None
    max_output: Window | None = Field(default=None, description="tokens of the window kept free for the answer")
    adopt: Literal["group", "turn", "never"] = Field(default="group", description="when a new generation goes in force")

    def arguments(self) -> dict[str, Any]:
        """As `CompactionClient.session` takes them."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class Around(Given):
    """What goes with the messages in the call, and what the answer is to hold."""

    system: Shallow = Field(default=None, description="the system prompt, counted, and part of `request`")
    tools: Shallow = Field(default=None, description="the tools of the call, counted")
    tail: bool = Field(default=True, description="false: without the messages that you have yourself")
    request: bool = Field(default=False, description="true: with the arguments of the provider's call")


class Want(Around):
    """What the view is to be; what is not said is as the session has it."""

    model: str | None = Field(default=None, max_length=256, description="another model for this call")
    window: Window | None = None
    max_output: Window | None = None
    format: str | None = Field(default=None, max_length=64, description="of another provider's API, for this call")
    hold: float = Field(default=0, ge=0, le=600, description="seconds to wait for a compaction, from the hard level on")

    def options(self) -> dict[str, Any]:
        """As `Session.view` and `Session.mirror` take them."""
        names = ("model", "window", "max_output", "format", "system", "tools", "hold")
        return {name: getattr(self, name) for name in names}


class ViewAnswer(Answer):
    """What to send to the model next: `prefix` and then `tail`. A client that keeps its own list of all messages may build it
    itself, now and after later messages: `[...prefix, ...mine.slice(tail_from)]`.
    """

    id: str = Field(description="names this view: give it back as `view` with the usage of the call, or to `overflow`")
    generation: int = Field(description="the compaction in force; 0: none")
    kind: Literal["raw", "compacted", "emergency"]
    format: str
    method: str = Field(description="the SDK's call that takes `request`")
    tokens: int = Field(description="estimate of the whole request")
    limit: int = Field(description="what it may be")
    behind: bool = Field(description="the mirrored list is a strict prefix of the session's")
    prefix: list[Any] = Field(description="messages of the view before the tail")
    tail: list[Any] | None = Field(
        description="messages recorded since the compaction, as they are; null: not asked for"
    )
    tail_from: int = Field(description="index of the tail's first message in a list of all messages of the session")
    request: JsonObject | None = Field(description="arguments of the provider's call; null: not asked for")
    warnings: Warnings


class ShownAnswer(Answer):
    """A view, and where the session is."""

    cursor: Cursor
    view: ViewAnswer


def shown_answer(view: View, want: Around) -> ShownAnswer:
    """Of a view."""
    return ShownAnswer.model_construct(
        cursor=cursor_after(view), view=view_answer(view, tail=want.tail, request=want.request)
    )


def view_answer(view: View, *, tail: bool, request: bool) -> ViewAnswer:
    """tail, request: what the answer is to hold."""
    return ViewAnswer.model_construct(
        id=view_name(view),
        generation=view.generation,
        kind=view.kind,
        format=view.format,
        method=view.method,
        tokens=view.tokens,
        limit=view.limit,
        behind=view.behind,
        prefix=list(view.messages[: view.tail_from]),
        tail=list(view.messages[view.tail_from :]) if tail else None,
        tail_from=view.tail_at,
        request=view.kwargs() if request else None,
        warnings=list(view.warnings),
    )

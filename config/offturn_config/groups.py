"""The parameters of a policy, in groups. Source: the policies of the named systems, docs/policies.md.

An `Amount` is a share of the context window where it is a fraction (0.25) and a number of tokens where it is whole
(40000). Sizes are estimates, see `offturn_engine.tokens`. Absolute sizes never exceed the window they are resolved for.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

Share: TypeAlias = Annotated[float, Field(gt=0, lt=1, strict=True)]
Tokens: TypeAlias = Annotated[int, Field(ge=0, strict=True)]
Amount: TypeAlias = Share | Tokens
Count: TypeAlias = Annotated[int, Field(ge=0)]


SHORTEST_TTL = 60  # seconds
LONGEST_TTL = 10 * 365 * 24 * 3600


class Group(BaseModel):
    """A named group of parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Trigger(Group):
    """When a compaction is wanted."""

    enabled: bool = Field(default=True, description="automatic triggers; requests and phases work without them")
    soft: Share | None = Field(
        default=None, description="view size from which a compaction is wanted in the background"
    )
    soft_tokens: Tokens | None = Field(default=None, description="the same in tokens; the stricter of the two counts")
    soft_tokens_below: Tokens | None = Field(
        default=None, description="windows of this size or more do without soft_tokens"
    )
    buffer: Tokens = Field(
        default=0,
        description="taken off the soft level, or off the usable window where none is set; at most a quarter of that",
    )
    small_window: Tokens | None = Field(default=None, description="windows below this start at small_window_soft")
    small_window_soft: Share | None = Field(default=None, description="soft level of small windows, where it is higher")
    minimum_soft_tokens: Tokens = Field(default=0, description="the soft level is at least this")
    hard: Share | None = Field(
        default=None,
        description="view size from which view(hold=) waits and holds are ignored; default 0.85, or halfway from soft to 1",
    )
    hard_messages: Count = Field(default=4, description="a shorter view is never at the hard level")
    phase: bool = Field(default=True, description="phase_done() asks for a compaction")
    phase_minimum: Amount = Field(default=0, description="smallest view for which a phase end is worth one")
    idle_seconds: Count = Field(
        default=0, description="silence after which a view above idle_floor is compacted; 0: never"
    )
    idle_floor: Amount = Field(default=0, description="smallest view for which silence is worth a compaction")
    minimum_growth: Amount = Field(description="growth before an automatic trigger fires again")
    minimum_interval: Count = Field(default=0, description="seconds between two automatic compactions")
    most_per_hour: Count = Field(default=0, description="automatic compactions per session and hour; 0: no limit")
    estimator: Literal["calibrated", "bytes4", "chars4"] = Field(
        default="calibrated",
        description="how a view is measured: estimates corrected by usage; bytes / 4; or characters / 4 and ten tokens "
        "for each message",
    )
    largest_result: Annotated[int, Field(ge=10_000, strict=True)] = Field(
        default=10_000,
        description="largest tool result the host lets through: room for one stays free above the soft level, "
        "at most a quarter of the window",
    )
    pct_override: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="percent of the window; takes the place of every soft level"
    )
    learn_start: bool = Field(
        default=False,
        description="start so early that a summary of the latency seen is ready at the growth seen; never above soft",
    )


class Size(Group):
    """How small the view should get."""

    target: Amount | None = Field(description="goal for the view after a compaction, before restores; none: soft")
    ceiling: Amount = Field(description="a compacted view is never published above this, unless the tail alone is")
    minimum_gain: Share = Field(description="share of the view that must be saved, else nothing is published")


class Prune(Group):
    """What is cut without a model."""

    style: Literal["off", "placeholder", "one-line", "tool-line", "head-tail", "hidden"] = Field(
        description="a cleared result becomes: a fixed text; one line (tool, target, exit code, size, handle); the "
        "shorter line of Hermes Agent, without a handle; its telling lines; or its whole message leaves the view with "
        "its partners"
    )
    placeholder: str = Field(default="", description="the fixed text of style placeholder, and of clearing tiers")
    minimum_characters: Count = Field(description="results up to this length stay")
    failure_lines: Count = Field(description="lines of a failed result that stay, from its head and its tail each")
    argument_characters: Count = Field(
        description="strings in call arguments above this are shrunk inside the JSON; 0: arguments stay"
    )
    argument_total: Count = Field(default=0, description="arguments of a call up to this length in all stay")
    deduplicate: bool = Field(description="of equal results only the newest stays")
    deduplicate_tail: bool = Field(
        default=False, description="also where the older one is in the tail, before the current turn"
    )
    minimum_gain: Amount = Field(description="what pruning must free, else it is left alone (cache economics)")
    protected_tokens: Amount = Field(default=0, description="newest tokens that are never pruned, beside the tail")
    protected_messages: Count = Field(default=0, description="newest messages that are never pruned")
    protected_results: Count = Field(default=0, description="newest results that are never pruned")
    protected_turns: Count = Field(default=0, description="newest turns that are never pruned")
    never: tuple[str, ...] = Field(default=(), description="tools whose results are never pruned")
    only: Literal["any", "reproducible"] = Field(
        default="any", description="reproducible: only results of tools that could be run again"
    )
    side_effects: bool = Field(
        default=False, description="results of calls that changed the outside world stay; judged call by call"
    )
    reasoning: Literal["keep", "drop"] = Field(default="keep", description="reasoning of turns before the tail")
    images: Count | None = Field(default=None, description="newest images that stay; none: all")
    order: Literal["late-half", "oldest"] = Field(
        description="late-half: oldest first within the late half, the early half only where that is not enough"
    )
    when: Literal["threshold", "every-turn"] = Field(
        default="threshold", description="every-turn: also below soft, in steps of minimum_gain"
    )


class Boundary(Group):
    """Where head, middle and tail part. Groups are never cut."""

    head_messages: Count = Field(default=0, description="first messages after the system prompt that stay")
    head_decays: bool = Field(default=False, description="the head is kept in the first compaction only")
    tail: Amount = Field(description="newest messages that stay untouched, in whole groups")
    tail_of: Literal["window", "soft"] = Field(default="window", description="what a share in tail is a share of")
    tail_minimum: Tokens = Field(
        default=0, description="the tail is at least this large, but at most a quarter of the window"
    )
    tail_maximum: Tokens | None = Field(default=None, description="the tail is at most this large, whole groups apart")
    tail_messages: Count = Field(default=0, description="newest messages that stay whatever their size")
    tail_overrun: Annotated[float, Field(ge=1, le=2)] = Field(
        default=1.0, description="the tail may be this many times its size where a whole group needs it"
    )
    tail_edge: Literal["outside", "inside"] = Field(
        default="outside", description="the tool group in which the tail's size is reached stays outside it, or inside"
    )
    tail_measured: Literal["raw", "pruned"] = Field(
        default="raw",
        description="pruned: prune first, all but the tail by its size before that, then fill the tail by what is left",
    )
    always_cut: bool = Field(
        default=False,
        description="where all would fit into the tail with its overrun it ends at its plain size, and something is covered",
    )
    tail_turns: Count | None = Field(default=None, description="the tail goes back at most this many turns; none: any")
    last_human: bool = Field(default=True, description="the tail reaches back to the last human message")


class Human(Group):
    """What humans wrote inside the covered ranges, carried by code."""

    budget: Amount | Literal["unlimited"] = Field(
        description="room for human messages, verbatim; 0: all by handle; what does not fit is cut in its middle"
    )
    minimum: Tokens = Field(default=0, description="the budget is at least this, but at most a quarter of the window")
    order: Literal["largest-first", "newest-kept"] = Field(
        default="largest-first", description="who gives way: the largest, then oldest; or all but the newest that fit"
    )
    placement: Literal["block", "section", "messages"] = Field(
        default="block",
        description="block after the summary; the template's own section; or messages before the summary",
    )

    @property
    def sacred(self) -> bool:
        """Is a compaction to fail rather than leave a word of them out? They are then a section of their own."""
        return self.budget == "unlimited" and self.placement == "section"


class Summary(Group):
    """What the summarizer writes."""

    template: Literal[
        "eight-section",
        "nine-section",
        "nine-section-xml",
        "handoff",
        "anchored",
        "five-section",
        "five-step",
        "thirteen-section",
    ] = Field(description="the sections asked for")
    ratio: Share | None = Field(default=None, description="cap on the output as a share of what is covered")
    budget: Share = Field(description="cap on the output as a share of the window")
    minimum: Tokens = Field(
        default=0,
        description="the cap is at least this, but at most an eighth of the window and a quarter of what the answer leaves",
    )
    maximum: Tokens | None = Field(default=None, description="the cap is at most this")
    source: Literal["raw", "pruned"] = Field(default="pruned", description="what the summarizer reads of a result")
    result_characters: Count | None = Field(
        default=None, description="characters of one result in the source; none: all"
    )
    chunking: Literal["rolling", "parallel"] = Field(
        default="rolling", description="a long middle: each chunk updates the record; or all at once, then merged"
    )
    one_call: bool = Field(default=False, description="a middle too long for one call is sampled instead of chunked")
    same_model: Literal["never", "if-cheaper"] = Field(
        default="never",
        description="if-cheaper: the session's own model writes it, reading the conversation from the provider's cache, "
        "where that costs less than the summarizer",
    )
    ledger_first: bool = Field(default=False, description="no model is asked where the ledger alone reaches the target")
    trim: bool = Field(
        default=False,
        description="where the summarizer cannot take all at once, the oldest groups are left out instead of chunked",
    )


class Ledger(Group):
    """Facts taken from the transcript by code."""

    budget: Amount = Field(description="room for the ledger in the view; 0: none")


class Audit(Group):
    """What has to become of the ledger's facts before a summary by a model is published: shown, or found by handle."""

    constraints: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="share of the constraints that has to be kept or recoverable; 0: none has"
    )
    others: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="the same of the facts of each other kind"
    )


class Tiers(Group):
    """The four tiers of `claude-code`: nothing, clear results, clear groups, summarise."""

    enabled: bool = Field(default=False, description="each tier is enough if the view is below the maximum input")
    clear_uses: bool = Field(default=False, description="tier 2: whole old groups and old reasoning leave the view")


class After(Group):
    """What is put around the summary."""

    lead_in: bool = Field(default=False, description="a sentence that the session continues from an earlier one")
    system_note: bool = Field(default=False, description="a note on the system prompt at the first compaction")
    summary_role: Literal["user", "alternating"] = Field(
        default="user",
        description="alternating: the role that neither neighbour of the summary has, where one of the two is free",
    )
    restore_files: Count = Field(
        default=0, description="most recent files shown again after the summary, as the transcript holds them"
    )
    restore_file_tokens: Amount = Field(default=0, description="tokens of each of them")
    skill_tokens: Amount = Field(default=0, description="room for skills and registered definitions")
    restore_tokens: Amount = Field(
        default=0, description="room for files and skills together; counted apart from the target"
    )
    cache: Literal["none", "system_and_3"] = Field(
        default="none",
        description="cache breakpoints in view.kwargs() (Anthropic): system prompt and last three messages",
    )


class Failure(Group):
    """What happens where a summary fails."""

    attempts: Annotated[int, Field(ge=1, le=20)] = Field(
        default=3, description="jobs that failed before the model is done without"
    )
    order: tuple[Literal["extractive", "trim", "keep"], ...] = Field(
        default=("extractive", "keep"),
        description="what takes the place of a summary: ledger and human words; a view without its oldest groups; nothing new",
    )
    reactive: Annotated[int, Field(ge=1, le=10)] = Field(
        default=3, description="smaller views in a row after a provider said that a prompt was too long"
    )
    too_dense: Annotated[int, Field(ge=1)] = Field(
        default=3, description="compactions in a row without progress that open the session's breaker"
    )


class Remote(Group):
    """What the provider does itself."""

    mode: Literal["none", "openai-compact", "anthropic-compact", "managed"] = Field(
        default="none", description="who compacts: we; a provider's endpoint; or the provider inside the request"
    )
    provider_edits: bool = Field(
        default=False, description="request options that let Anthropic clear old tool uses and thinking"
    )


class Bounds(Group):
    """How long and how large one session may get."""

    ttl: int = Field(
        default=0,
        ge=0,
        le=LONGEST_TTL,
        description=f"seconds without a write or a view after which the session is deleted, at least {SHORTEST_TTL}; 0: never",
    )
    bytes: int = Field(
        default=256 * 1024 * 1024, ge=0, le=2**40, description="largest log; what goes beyond is refused; 0: no limit"
    )

    @field_validator("ttl")
    @classmethod
    def _outlives_a_call(cls, value: int) -> int:
        if 0 < value < SHORTEST_TTL:
            raise ValueError(f"use 0 (never) or at least {SHORTEST_TTL} seconds: a job must not outlive its session")
        return value

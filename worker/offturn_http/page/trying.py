"""Trying a policy on a transcript that is pasted or uploaded: computed, shown once and forgotten."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from python_multipart.multipart import Field, File, create_form_parser
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from offturn import OffturnError
from offturn.summarizer import EXTRACTIVE
from offturn_config.errors import InvalidSetting
from offturn_config.presets import DEFAULT, load, names
from offturn_engine.files import NAMES, read
from offturn_engine.messages import RawMessage
from offturn_engine.report import Entry, Report
from offturn_http.page.bars import Bar, before_after
from offturn_http.page.desk import Desk, chunks_of
from offturn_worker.cli.account import account
from offturn_worker.cli.reading import numbered
from offturn_worker.offline import Result, compact_conversation
from offturn_worker.reporting.file import OUTCOMES, report_of

LARGEST = 8 * 2**20  # bytes of a transcript
TOO_LARGE = f"A transcript of more than {LARGEST // 2**20} MB: use `offturn compact FILE`."
AT_ONCE = 2  # a large one takes a core for seconds
CHOSEN = ("policy", "window", "format", "index")
LISTED = 500  # messages
LONGEST = 4_000  # characters of one message of the view


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The form as it was filled in. window, index: digits, or "" for what goes without saying."""

    data: bytes = b""
    policy: str = DEFAULT
    window: str = ""
    format: str = ""
    index: str = ""
    file: str = ""

    @property
    def text(self) -> str:
        """What was pasted, to be shown again."""
        return "" if self.file else self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of it. view: (role, its JSON, characters left out) of the messages to send next."""

    result: Result
    outcome: str
    report: Report
    lines: list[str]
    conversations: int
    bars: tuple[Bar, Bar]
    entries: tuple[Entry, ...]
    view: list[tuple[str, str, int]]


async def ask(desk: Desk) -> Response:
    """The form, empty."""
    return _shown(desk, Wish(policy=desk.asked("policy", DEFAULT)))


async def attempt(desk: Desk) -> Response:
    """The form with what came of it. Nothing is written anywhere."""
    fields, wish = await _form(desk.request)
    desk.accept(fields.get("token", ""))
    if desk.site.trials >= AT_ONCE:
        raise HTTPException(503, "Others are trying policies now. Try again in a moment.")
    desk.site.trials += 1
    try:
        return _shown(desk, wish, trial=await asyncio.to_thread(_tried, wish))
    except OffturnError as error:
        return _shown(desk, wish, refused=str(error))
    finally:
        desk.site.trials -= 1


def _tried(wish: Wish) -> Trial:
    """Raises what reading a file and compacting it raise."""
    policy = load(wish.policy)
    conversations = read(wish.data, format=wish.format or None)
    if not conversations:
        raise InvalidSetting("the transcript holds no conversation: paste messages, or choose a file")
    one = numbered(conversations, _number(wish.index, "conversation") or 0)
    window = _number(wish.window, "window") or None
    result = asyncio.run(compact_conversation(one, policy, window, EXTRACTIVE))
    report = report_of(result)
    return Trial(
        result=result,
        outcome=OUTCOMES[result.outcome],
        report=report,
        lines=account(result),
        conversations=len(conversations),
        bars=before_after(report),
        entries=report.entries[:LISTED],
        view=[_message(raw) for raw in result.messages[:LISTED]],
    )


def _number(text: str, name: str) -> int:
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidSetting(f"{name} {text!r:.40}: use a whole number")
    return int(text or 0)


def _message(raw: RawMessage) -> tuple[str, str, int]:
    role, said = str(raw.get("role") or raw.get("type") or "message"), raw.get("content")
    text = (
        said
        if isinstance(said, str) and set(raw) <= {"role", "content"}
        else json.dumps(raw, ensure_ascii=False, indent=1)
    )
    return role, text[:LONGEST], max(0, len(text) - LONGEST)


def _shown(desk: Desk, wish: Wish, *, trial: Trial | None = None, refused: str = "") -> Response:
    return desk.render(
        "try.html",
        422 if refused else 200,
        wish=wish,
        trial=trial,
        refused=refused,
        policies=names(),
        formats=NAMES,
        largest=LARGEST // 2**20,
        listed=LISTED,
    )


async def _form(request: Request) -> tuple[dict[str, str], Wish]:
    """The fields, and the wish they come to; in memory only. Raises HTTPException 400, 413."""
    fields, files = dict[str, str](), list[tuple[str, bytes]]()

    def on_field(field: Field) -> None:
        fields[_text(field.field_name)] = _text(field.value)

    def on_file(file: File) -> None:
        file.file_object.seek(0)
        files.append((_text(file.file_name), file.file_object.read()))

    headers = {"Content-Type": request.headers.get("content-type", "").encode("latin-1")}
    try:
        # The file's bound: else a large one would lie on the disk for a moment.
        parser = create_form_parser(headers, on_field, on_file, {"MAX_MEMORY_FILE_SIZE": 2 * LARGEST, "MAX_FIELDS": 20})
        async for chunk in chunks_of(request, LARGEST + 64 * 1024, TOO_LARGE):
            parser.write(chunk)
        parser.finalize()
    except ValueError:
        raise HTTPException(400, "The form cannot be read: send it as the page has it.") from None
    name, data = next((file for file in files if file[0]), ("", fields.get("text", "").encode()))
    known = {field: text for field in CHOSEN if (text := fields.get(field, "").strip())}
    return fields, Wish(data=data, file=name, **known)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")

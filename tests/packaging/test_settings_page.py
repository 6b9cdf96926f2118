"""docs/settings.md and the settings agree, in both directions."""

from __future__ import annotations

import re

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo

from offturn_config.settings import ClientSettings, HttpSettings, TriggerSettings, WorkerSettings
from tests.packaging.sources import ROOT

PAGE = (ROOT / "docs/settings.md").read_text()
ROW = re.compile(r"^\| `((?:OFFTURN|OTEL)_[A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def _variable(name: str, info: FieldInfo) -> str:
    alias = info.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"OFFTURN_{name.upper()}"


FIELDS = {
    _variable(name, info): info
    for kind in (HttpSettings, ClientSettings, WorkerSettings, TriggerSettings)
    for name, info in kind.model_fields.items()
}
OF_NO_FIELD = {"OFFTURN_SECRETS_DIR"}


def test_every_variable_is_listed_once_and_no_other() -> None:
    listed = [name for name, _, _ in ROW.findall(PAGE)]
    assert sorted(listed) == sorted(FIELDS.keys() | OF_NO_FIELD)


def test_the_defaults_are_those_of_the_fields() -> None:
    told = {name: default for name, default, _ in ROW.findall(PAGE) if name not in OF_NO_FIELD}
    assert told.pop("OFFTURN_WORKER_ID") == "host name and process id"
    client, worker = ClientSettings.model_fields["timeout"].default, WorkerSettings.model_fields["timeout"].default
    assert told.pop("OFFTURN_TIMEOUT") == f"`{client}`, in a worker `{worker}`"
    assert told == {name: _default(FIELDS[name].default) for name in told}


def _default(value: object) -> str:
    assert not isinstance(value, SecretStr)
    return "unset" if value is None else f"`{value}`"


def test_the_other_names_of_keys_are_told() -> None:
    aliases = [info.validation_alias for info in FIELDS.values() if isinstance(info.validation_alias, AliasChoices)]
    assert len(aliases) == 5
    assert [alias for choices in aliases for alias in choices.choices if f"`{alias}`" not in PAGE] == []


def test_the_readme_leads_to_it() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "(docs/settings.md)" in readme
    assert f"`127.0.0.1:{WorkerSettings.model_fields['health_port'].default}`" in readme

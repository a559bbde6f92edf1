"""Where a setting comes from: the command line before the environment, before the file, before its default.

Every value is read and checked on its own, so that what is wrong is told with the place where it stands, its key and
its value; then the tree is put together, and what has to agree is checked.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, cast, get_origin

from pydantic import ConfigDict, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from interlock.errors import WorldError
from interlock.serve.config import ENV_PREFIX, NESTED, Config, sections

DEFAULT: Final = "default"
STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)
OTHERS: Final = ("INTERLOCK_CONFIG", "INTERLOCK_TEST_")
"""Variables that are no settings: the name of the file, and what tests use."""


class Given(NamedTuple):
    """A value as it was written: ``text`` is what has to be read as text, which a file's values have not."""

    value: Any
    place: str
    text: bool


class Configured(NamedTuple):
    """The tree, where each value came from (by dotted key), and variables that look like settings and are none."""

    config: Config
    places: Mapping[str, str]
    unknown: tuple[str, ...]


def configured(
    flags: Mapping[str, Given], file: Path | None, environ: Mapping[str, str], defaults: Mapping[str, Given]
) -> Configured:
    """Put the layers together. ``defaults`` are below the file; ``flags`` have dotted keys.

    Raises :class:`WorldError` that names the place, the key, the value and what would do.
    """
    given: dict[str, Given] = dict(defaults)
    if file is not None:
        given |= _from_file(file)
    variables, unknown = _from_environment(environ)
    given |= variables
    given |= flags
    values = {key: _read(key, each) for key, each in given.items()}
    places = {key: given[key].place for key in values} | {k: DEFAULT for k in fields_by_key() if k not in values}
    return Configured(_assembled(values, places), places, unknown)


def fields_by_key() -> dict[str, FieldInfo]:
    """Return every leaf of the tree by its dotted key."""
    branches = sections()
    return {
        f"{branch}.{name}" if branch else name: field
        for branch, model in branches.items()
        for name, field in model.model_fields.items()
        if branch or name not in branches
    }


def full_key(name: str) -> str | None:
    """Return the dotted key that a name stands for; it may be short, where only one section has it."""
    known = fields_by_key()
    short = [key for key in known if key.rpartition(".")[2] == name]
    return name if name in known else short[0] if len(short) == 1 else None


def no_such(name: str) -> str:
    """Say that a name is none, and what it may have been meant to be."""
    known = list(fields_by_key())
    near = difflib.get_close_matches(name, [*known, *(key.rpartition(".")[2] for key in known)], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"there is no setting {name!r}; {meant}`interlock serve --show-config` lists them all"


def _from_file(path: Path) -> dict[str, Given]:
    try:
        raw = TomlConfigSettingsSource(Config, path)() if path.is_file() else None
    except tomllib.TOMLDecodeError as error:
        raise WorldError(f"{path}: is no TOML: {error}") from error
    except OSError as error:
        raise WorldError(f"{path}: cannot be read: {error.strerror}") from error
    if raw is None:
        raise WorldError(f"{path}: there is no such file; `interlock serve --show-config` prints one to begin with")
    leaves = dict(_leaves(raw))
    for key in leaves:
        if key not in fields_by_key():
            raise WorldError(f"{path}: {no_such(key)}")
    return {key: Given(value, str(path), text=False) for key, value in leaves.items()}


def _from_environment(environ: Mapping[str, str]) -> tuple[dict[str, Given], tuple[str, ...]]:
    """Read the variables; what begins like one of ours and is none may be somebody else's, and is only told."""
    source = EnvSettingsSource(Config)
    raw = source.env_vars = {name.lower(): value for name, value in environ.items()}
    known = fields_by_key()
    given = {
        key: Given(raw.get(variable_of(key).lower(), value), f"the variable {variable_of(key)}", text=True)
        for key, value in _leaves(source())
        if key in known
    }
    ours = {variable_of(key) for key in known}
    others = (name for name in environ if name.startswith(ENV_PREFIX) and not name.startswith(OTHERS))
    return given, tuple(sorted(name for name in others if name.upper() not in ours))


def variable_of(key: str) -> str:
    """Return the environment variable of a key."""
    return ENV_PREFIX + key.replace(".", NESTED).upper()


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _read(key: str, given: Given) -> Any:
    """Return a value as what its field is, or say what is wrong with it."""
    field = fields_by_key()[key]
    kind: Any = TypeAdapter(cast(Any, Annotated[field.annotation, field]), config=STRICT)
    try:
        if field.annotation is SecretStr and isinstance(given.value, str):
            return SecretStr(given.value)
        if not given.text:
            return kind.validate_json(json.dumps(given.value, default=str))
        if get_origin(field.annotation) is tuple:
            return tuple(word.strip() for word in str(given.value).split(",") if word.strip())
        return kind.validate_strings(given.value)
    except ValidationError as error:
        value = "(hidden)" if field.annotation is SecretStr else given.value
        why = error.errors(include_url=False)[0]["msg"]
        raise WorldError(f"{given.place}: {key} = {value}: {why} ({field.description})") from error


def _assembled(values: Mapping[str, Any], places: Mapping[str, str]) -> Config:
    tree: dict[str, Any] = {}
    for branch, model in sections().items():
        mine = {
            key.removeprefix(f"{branch}.") if branch else key: value
            for key, value in values.items()
            if key.rpartition(".")[0] == branch
        }
        try:
            tree = tree | mine if not branch else tree | {branch: model.model_validate(mine)}
        except ValidationError as error:
            raise _disagreement(error, branch, places) from error
    try:
        return Config(**tree)
    except ValidationError as error:
        raise _disagreement(error, "", places) from error


def _disagreement(error: ValidationError, branch: str, places: Mapping[str, str]) -> WorldError:
    """Say which values do not go together, and where those stand that somebody has set."""
    why = "; ".join(each["msg"].removeprefix("Value error, ") for each in error.errors(include_url=False))
    mine = {key: place for key, place in places.items() if place != DEFAULT and (not branch or key.startswith(branch))}
    named = {key: place for key, place in mine.items() if key.rpartition(".")[2] in why} or mine
    where = ", ".join(f"{key} from {place}" for key, place in named.items())
    return WorldError(f"{where or branch or 'settings'}: {why}")

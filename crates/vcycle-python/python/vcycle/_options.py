"""Keywords that become a configuration."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core

_KNOWN: dict[str, Any] = json.loads(_core.options())
_TOP = ("solver", "preconditioner", "precision", "format", "nullspace")
_STOP = tuple(_KNOWN["config"]["stop"])
_RUN = tuple(_KNOWN["config"]["run"])
# The unknowns of a node belong to the matrix, not to the method.
_AMG = tuple(key for key in _KNOWN["amg"] if key not in ("precision", "block-size"))


def options() -> dict[str, Any]:
    """Every keyword with its default: what `solve` and `amg` take beside their own arguments.

    The first four groups are keywords. The last two are what `solver=` and `preconditioner=` may
    be, by name or as a dictionary with the name and parameters.

    >>> import vcycle
    >>> vcycle.options()["stop"]["rtol"]
    1e-08
    >>> vcycle.options()["solvers"]["gmres"]
    {'restart': 50}
    """

    def by_name(components: list[dict[str, Any]]) -> dict[str, Any]:
        return {c["name"]: _keywords({k: v for k, v in c.items() if k != "name"}) for c in components}

    config = _KNOWN["config"]
    return {
        "general": {key: _name(config[key]) for key in _TOP},
        "stop": _keywords(config["stop"]),
        "run": _keywords(config["run"]),
        "multigrid": _keywords({key: _KNOWN["amg"][key] for key in _AMG}),
        "solvers": by_name(_KNOWN["solvers"]),
        "preconditioners": by_name(_KNOWN["preconditioners"]),
    }


def _name(value: Any) -> Any:
    return value.get("name", value) if isinstance(value, dict) else value


def _keywords(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in table.items()}


def configuration(given: Mapping[str, Any], *, multigrid: bool = False) -> dict[str, Any]:
    """The configuration that keywords mean; with `multigrid` its preconditioner is `amg`."""
    rest = {key: value for key, value in given.items() if key not in ("config", "preset")}
    config = _base(given.get("config"), given.get("preset"))
    if multigrid and "preconditioner" in rest:
        raise TypeError("`amg` is multigrid: it takes no `preconditioner`; use `vcycle.solve`")
    levels: dict[str, Any] = {}
    for keyword, value in rest.items():
        _place(config, levels, keyword, _plain(value))
    _set_precision(config, levels, multigrid)
    if levels or multigrid:
        config["preconditioner"] = {**_amg_of(config, multigrid), **levels}
    return config


def as_json(config: Mapping[str, Any]) -> str:
    return json.dumps(config)


def _base(config: Any, preset: Any) -> dict[str, Any]:
    if config is not None and preset is not None:
        raise TypeError("give `config` or `preset`, not both")
    if preset is not None:
        read = json.loads(_core.preset(preset))
    elif config is None:
        read = {}
    elif isinstance(config, (str, os.PathLike)):
        read = json.loads(_core.read_config(config))
    elif isinstance(config, Mapping):
        read = _plain(config)
    else:
        raise TypeError(f"`config` is a file name or a dictionary, not {type(config).__name__}")
    return dict(read)


def _place(config: dict[str, Any], levels: dict[str, Any], keyword: str, value: Any) -> None:
    key = keyword.replace("_", "-")
    if key in _TOP:
        config[key] = value
    elif key in _STOP:
        config.setdefault("stop", {})[key] = value
    elif key in _RUN:
        config.setdefault("run", {})[key] = value
    elif key in _AMG:
        levels[key] = value
    else:
        raise unknown(keyword)


def _set_precision(config: dict[str, Any], levels: dict[str, Any], multigrid: bool) -> None:
    """A precision is that of multigrid's levels where it names several, or multigrid is chosen."""
    precision = config.get("precision")
    chosen = _name(config.get("preconditioner", "auto"))
    of_levels = multigrid or str(chosen).startswith("amg") or "-" in str(precision)
    if precision is not None and of_levels:
        levels["precision"] = config.pop("precision")


def _amg_of(config: dict[str, Any], multigrid: bool) -> dict[str, Any]:
    """The parameters of multigrid that are chosen already."""
    chosen = config.get("preconditioner", "auto")
    if isinstance(chosen, dict) and chosen.get("name") == "amg":
        return chosen
    if multigrid or _name(chosen) in ("auto", "amg"):
        return {"name": "amg"}
    raise TypeError(
        f"an option of multigrid is given, but the preconditioner is {_name(chosen)!r}; "
        "give multigrid's parameters as keywords, those of others as a dictionary: "
        'preconditioner={"name": "jacobi", "weight": 0.9}'
    )


def unknown(keyword: str, also: tuple[str, ...] = ()) -> TypeError:
    """The exception for a keyword that does not exist."""
    known = [key.replace("-", "_") for key in (*_TOP, *_STOP, *_RUN, *_AMG)]
    known += ["config", "preset", "near_nullspace", "coordinates", "block_size", "callback", *also]
    near = difflib.get_close_matches(keyword, known, n=1, cutoff=0.6)
    hint = f"; did you mean `{near[0]}`?" if near else "; `vcycle.options()` lists all"
    return TypeError(f"unknown option `{keyword}`{hint}")


def _plain(value: Any) -> Any:
    """What JSON can hold, with the keys of the configuration files."""
    if isinstance(value, Mapping):
        return {str(key).replace("_", "-"): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item") and callable(value.item):
        return value.item()
    return value

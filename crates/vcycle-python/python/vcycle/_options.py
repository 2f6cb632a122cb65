"""Keywords that become a configuration."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core

_KNOWN: dict[str, Any] = json.loads(_core.options())
_TOP = ("solver", "preconditioner", "precision", "format", "nullspace", "equilibrate", "match", "reorder")
_STOP = tuple(_KNOWN["config"]["stop"])
_RUN = tuple(_KNOWN["config"]["run"])
# The unknowns of a node belong to the matrix, not to the method.
_MULTIGRIDS = ("amg", "struct-mg")
_AMG = tuple(key for key in _KNOWN["amg"] if key not in ("precision", "block-size"))


# The names in SciPy and PyAMG.
_SYNONYMS = {"tol": "rtol", "maxiter": "max_iterations"}
_ELSEWHERE = {
    "M": "`preconditioner=` names one, and `scipy.sparse.linalg` takes `ml.as_preconditioner()` as its `M`",
    "accel": "`solver=` names the Krylov method",
    "residuals": "`return_outcome=True` returns an outcome, whose `history` has them",
    "return_info": "`return_outcome=True` returns an outcome",
    "B": "`near_nullspace=` takes such vectors",
}


def options() -> dict[str, Any]:
    """Every keyword with its default: the options of `solve` and `amg` besides their own arguments.

    The first four groups are keywords. The last two are what `solver=` and `preconditioner=` may
    be; their parameters are keywords too, once they are chosen: ``solver="gmres", restart=30``.

    >>> import vcycle
    >>> vcycle.options()["stop"]["rtol"]
    1e-08
    >>> vcycle.options()["solvers"]["gmres"]
    {'basis': 'working', 'restart': 50}
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


def _name(component: Any) -> Any:
    return component.get("name") if isinstance(component, dict) else component


def _keywords(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in table.items()}


def configuration(given: Mapping[str, Any], *, multigrid: bool = False) -> dict[str, Any]:
    """The configuration of the keywords; with `multigrid` its preconditioner is `amg` unless it is `struct-mg`."""
    given = renamed(given)
    config = _base(given.get("config"), given.get("preset"))
    if multigrid and _short_name(given.get("preconditioner", "amg")) not in _MULTIGRIDS:
        raise TypeError("`amg` is multigrid: its `preconditioner` is `amg` or `struct-mg`; use `vcycle.solve`")
    rest = {key.replace("_", "-"): (key, _plain(value)) for key, value in given.items()}
    for key in _TOP:
        if key in rest:
            config[key] = rest.pop(key)[1]
    if multigrid and _short_name(config.get("preconditioner")) not in _MULTIGRIDS:
        config["preconditioner"] = "amg"
    _move_precision(config)
    for key, (keyword, value) in rest.items():
        if key not in ("config", "preset"):
            _place(config, key, keyword, value)
    return config


def renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with the names of this package."""
    found: dict[str, Any] = {}
    for keyword, value in given.items():
        name = _SYNONYMS.get(keyword, keyword)
        if name in found or (name != keyword and name in given):
            raise TypeError(f"`{keyword}` is `{name}`: give one of them")
        found[name] = value
    return found


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


def _place(config: dict[str, Any], key: str, keyword: str, value: Any) -> None:
    """Where a keyword belongs: a section, the preconditioner that is chosen, or the solver."""
    if key in _STOP:
        config.setdefault("stop", {})[key] = value
    elif key in _RUN:
        config.setdefault("run", {})[key] = value
    elif key in _parameters("preconditioner", config):
        _set_parameter(config, "preconditioner", key, value)
    elif key in _parameters("solver", config):
        _set_parameter(config, "solver", key, value)
    elif key in _AMG:
        chosen = _short_name(config["preconditioner"])
        raise TypeError(f"`{keyword}` is an option of multigrid, but the preconditioner is `{chosen}`")
    else:
        raise unknown(keyword, also=_all_parameters())


def _short_name(component: Any) -> str:
    return str(_name(component)).partition(":")[0]


def _parameters(family: str, config: dict[str, Any]) -> tuple[str, ...]:
    """The parameters of the chosen component; without a choice, those of multigrid."""
    name = _short_name(config.get(family, "auto"))
    if family == "preconditioner" and name in ("auto", "amg"):
        return _AMG
    known = {c["name"]: tuple(key for key in c if key != "name") for c in _KNOWN[f"{family}s"]}
    # Left out where it is empty, as it is by default.
    return (*known.get(name, ()), *(("levels",) if name == "struct-mg" else ()))


def _all_parameters() -> tuple[str, ...]:
    components = [*_KNOWN["solvers"], *_KNOWN["preconditioners"]]
    return tuple({key.replace("-", "_") for c in components for key in c if key != "name"})


def _set_parameter(config: dict[str, Any], family: str, key: str, value: Any) -> None:
    component = config.get(family, "auto")
    if not isinstance(component, dict):
        if ":" in str(component):
            raise TypeError(f"give the parameters of `{component}` after the colon or as keywords, not both")
        component = {"name": "amg" if component == "auto" else component}
    config[family] = {**component, key: value}


def _move_precision(config: dict[str, Any]) -> None:
    """A precision is that of multigrid's levels if it names several, or if multigrid is chosen."""
    precision = config.get("precision")
    chosen = _short_name(config.get("preconditioner", "auto"))
    if precision is None or not (chosen in _MULTIGRIDS or "-" in str(precision)):
        return
    if chosen not in ("auto", *_MULTIGRIDS):
        raise TypeError(f"`precision` is of several levels, but the preconditioner is `{chosen}`")
    _set_parameter(config, "preconditioner", "precision", config.pop("precision"))


def unknown(keyword: str, also: tuple[str, ...] = ()) -> TypeError:
    """The exception for a keyword that does not exist."""
    known = [key.replace("-", "_") for key in (*_TOP, *_STOP, *_RUN, *_AMG)]
    known += ["config", "preset", "near_nullspace", "coordinates", "block_size", "callback", *also]
    if keyword in _ELSEWHERE and keyword not in known:
        return TypeError(f"unknown option `{keyword}`: {_ELSEWHERE[keyword]}")
    near = difflib.get_close_matches(keyword, known, n=1, cutoff=0.6)
    hint = f"; did you mean `{near[0]}`?" if near else "; `vcycle.options()` lists all"
    return TypeError(f"unknown option `{keyword}`{hint}")


def _plain(value: Any) -> Any:
    """The value as JSON, with the keys of the configuration files."""
    if isinstance(value, Mapping):
        return {str(key).replace("_", "-"): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item") and callable(value.item):
        return value.item()
    return value

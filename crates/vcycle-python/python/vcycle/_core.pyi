"""The native part."""

from collections.abc import Callable
from os import PathLike
from typing import Any

from numpy.typing import NDArray

__version__: str

class VcycleError(Exception): ...
class DeviceError(RuntimeError): ...

class Matrix:
    def __init__(
        self,
        config: str,
        shape: tuple[int, int],
        offsets: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        by_columns: bool,
        near_nullspace: list[NDArray[Any]] | None,
        block_size: int | None,
    ) -> None: ...
    def with_arrays(
        self,
        offsets: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        by_columns: bool,
    ) -> Matrix: ...
    @property
    def is_complex(self) -> bool: ...

class Hierarchy:
    def __init__(self, matrix: Matrix, config: str) -> None: ...
    def update(self, matrix: Matrix) -> Hierarchy: ...
    def solve(
        self,
        b: NDArray[Any],
        guess: NDArray[Any] | None,
        config: str,
        callback: Callable[[int, float], object] | None,
    ) -> tuple[NDArray[Any], str]: ...
    def apply(self, b: NDArray[Any]) -> NDArray[Any]: ...
    def matrices(
        self,
    ) -> list[list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], tuple[int, int]]]]: ...
    def coarsening(self) -> tuple[bool, list[list[int]]]: ...
    def report(self) -> str: ...
    def config(self) -> str: ...

class Operator:
    name: str
    def __init__(self, matrix: Matrix, config: str) -> None: ...
    def apply(self, b: NDArray[Any]) -> NDArray[Any]: ...

def solve(
    matrix: Matrix,
    b: NDArray[Any],
    config: str,
    callback: Callable[[int, float], object] | None,
) -> tuple[NDArray[Any], str]: ...
def build(specification: str) -> list[tuple[str, Any]]: ...
def problems() -> str: ...
def options() -> str: ...
def preset(name: str) -> str: ...
def read_config(path: str | PathLike[str]) -> str: ...
def devices() -> list[str]:
    """The names of the devices there are: "cpu", "reference", "cuda:0", ..."""

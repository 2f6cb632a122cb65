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
        share: bool,
    ) -> None: ...
    @staticmethod
    def on_device(
        config: str,
        shape: tuple[int, int],
        arrays: list[Any],
        near_nullspace: list[NDArray[Any]] | None,
        block_size: int | None,
    ) -> Matrix: ...
    def with_arrays_on_device(self, arrays: list[Any]) -> Matrix: ...
    def with_arrays(
        self,
        offsets: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        by_columns: bool,
    ) -> Matrix: ...
    @property
    def is_complex(self) -> bool: ...

class DistributedSystem:
    def __init__(
        self,
        config: str,
        communicator: int,
        offsets: NDArray[Any],
        columns: NDArray[Any],
        values: NDArray[Any],
        near_nullspace: list[NDArray[Any]] | None,
        block_size: int | None,
    ) -> None: ...
    def solve(
        self, b: NDArray[Any], guess: NDArray[Any] | None, callback: Callable[[int, float], object] | None
    ) -> tuple[NDArray[Any], str]: ...
    def update(self, values: NDArray[Any]) -> None: ...

class DeviceArray:
    shape: tuple[int, ...]
    def single(self) -> DeviceArray: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = ...,
        max_version: tuple[int, int] | None = ...,
        dl_device: tuple[int, int] | None = ...,
        copy: bool | None = ...,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class Assembly:
    nonzeros: int
    def __init__(
        self,
        shape: tuple[int, int],
        rows: NDArray[Any],
        columns: NDArray[Any],
        device: str | None,
        threads: int | None,
    ) -> None: ...
    @staticmethod
    def on_device(shape: tuple[int, int], rows: Any, columns: Any, device: str) -> Assembly: ...
    def sums(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
    def structure_on_device(self) -> tuple[DeviceArray, DeviceArray]: ...
    def sums_on_device(self, values: Any) -> DeviceArray: ...

class Hierarchy:
    def __init__(self, matrix: Matrix, config: str) -> None: ...
    def update(self, matrix: Matrix) -> Hierarchy: ...
    def solve(
        self,
        b: Any,
        guess: Any,
        config: str,
        callback: Callable[[int, float], object] | None,
        single: bool,
    ) -> tuple[Any, str]: ...
    def apply(self, b: Any) -> Any: ...
    def matrices(
        self,
    ) -> list[list[tuple[tuple[NDArray[Any], NDArray[Any], NDArray[Any]], tuple[int, int]]]]: ...
    def coarsening(self) -> tuple[bool, list[list[int]]]: ...
    def report(self) -> str: ...
    def config(self) -> str: ...

class Operator:
    name: str
    def __init__(self, matrix: Matrix, config: str) -> None: ...
    def apply(self, b: Any) -> Any: ...

def solve(
    matrix: Matrix,
    b: Any,
    guess: Any,
    config: str,
    callback: Callable[[int, float], object] | None,
    single: bool,
) -> tuple[Any, str]: ...
def batch_solve(
    rows: int,
    structure: tuple[list[int], list[int]] | None,
    values: NDArray[Any],
    b: NDArray[Any],
    x0: NDArray[Any],
    options: str,
    threads: int | None,
    device: str | None,
) -> tuple[NDArray[Any], str]: ...
def batch_solve_on_device(
    rows: int,
    structure: tuple[list[int], list[int]] | None,
    values: Any,
    b: Any,
    x0: Any,
    options: str,
    device: str,
) -> tuple[DeviceArray, str]: ...
def traffic(device: str) -> tuple[int, int]: ...
def build(specification: str) -> list[tuple[str, Any]]: ...
def problems() -> str: ...
def options() -> str: ...
def preset(name: str) -> str: ...
def read_config(path: str | PathLike[str]) -> str: ...
def devices() -> list[str]:
    """The names of the devices found: "cpu", "reference", "cuda:0", ..."""

def use_kernels(path: str | PathLike[str]) -> None:
    """Uses an archive of GPU kernels that were compiled in advance (`vcycle kernels build`)."""

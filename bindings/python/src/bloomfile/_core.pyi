# SPDX-License-Identifier: MIT
import sys
from _typeshed import FileDescriptorLike, ReadableBuffer, StrOrBytesPath, WriteableBuffer
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, final, overload, type_check_only
from typing_extensions import Self, disjoint_base

from .records import Header, Info, Measurement, Size

_Key: TypeAlias = bytes | bytearray | memoryview | str | SupportsIndex
_Layout: TypeAlias = Literal["blocked", "classic", "counting", "ribbon"]
_KeyKind: TypeAlias = Literal["text", "lower", "integers", "bytes"] | int

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@type_check_only
class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@type_check_only
class _Array(Protocol):  # NumPy's stubs have no __buffer__ before Python 3.12
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Buffer: TypeAlias = ReadableBuffer | _Array
_Keys: TypeAlias = Iterable[_Key] | _ArrowArray | _ArrowStream
_Out = TypeVar("_Out", bound=WriteableBuffer | _Array)

library_version: str
version: str

def hash(key: _Key, /, seed: int = 0) -> int:
    """Returns the digest of a key: XXH3 of its bytes, with a seed."""
@overload
def hash_many(keys: _Keys, /, seed: int = 0, *, out: None = None) -> bytearray:
    """Returns the digests of keys, as contains_many() takes them, 8 bytes each, in a bytearray or in `out`. A null raises a
    ValueError."""
@overload
def hash_many(keys: _Keys, /, seed: int = 0, *, out: _Out) -> _Out: ...
@overload
def hash_records(records: _Buffer, /, size: int | None = None, seed: int = 0, *, out: None = None) -> bytearray:
    """The same for a buffer of keys of one size: the bytes of its items or rows. An array of integers wider than a byte holds integer
    keys; `size` with such an array raises a TypeError."""
@overload
def hash_records(records: _Buffer, /, size: int | None = None, seed: int = 0, *, out: _Out) -> _Out: ...
def size_for(n: int = 0, fpr: float = 0.0, *, bits: int = 0, hashes: int = 0, layout: _Layout | None = None) -> Size:
    """Computes the size of a filter before it is made. A parameter that is 0 is computed: the bits for n keys, or the n for these
    bits."""
def unlink(path: StrOrBytesPath) -> None:
    """Removes a filter; all files of one that grows or forgets."""
def slice_of(bits: int, slices: int, digest: int, /) -> int:
    """The slice, from 0, to which a digest belongs in a blocked filter of so many bits."""
def split_digests(bits: int, slices: int, digests: _Buffer, /) -> list[bytes]:
    """The digests of each slice, as a list of bytes: a buffer of uint64, or of 8 bytes each, made by hash_many() with the filter's
    seed. Of those that repeat, most are left out."""

@final
class Answers(Sequence[bool | None]):
    """What a batch of keys returns: True, False, or None for a null. It selects rows: array[m], df[m], df.loc[~m]; in polars
    df.filter(m). Its memory is a buffer of bools, and it never changes. ~, &, | and ^ combine answers, and == compares all of them with a list.
    Calling it is what pandas does with an indexer: the result is an array for pandas."""

    def __new__(cls, values: Iterable[bool | None], /) -> Self: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> bool | None: ...
    @overload
    def __getitem__(self, index: slice, /) -> Answers: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __bool__(self) -> bool: ...  # raises; NoReturn would hide the code after `if m:` from checkers
    def __invert__(self) -> Answers: ...
    @overload
    def __and__(self, other: Answers, /) -> Answers: ...
    @overload
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    @overload
    def __or__(self, other: Answers, /) -> Answers: ...
    @overload
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    @overload
    def __xor__(self, other: Answers, /) -> Answers: ...
    @overload
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __call__(self, frame: object, /) -> Any: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def sum(self, axis: None = None, out: None = None) -> int:
        """The number of True. axis and out must be None."""
    def any(self, axis: None = None, out: None = None) -> bool:
        """Whether an answer is True."""
    def all(self, axis: None = None, out: None = None) -> bool:
        """Whether no answer is False."""
    def count(self, value: object, /) -> int:
        """The number of answers that are `value`: True, False or None."""
    def index(self, value: object, /) -> int:  # type: ignore[override]
        """The position of the first such answer; ValueError if there is none."""
    @property
    def null_count(self) -> int:
        """The number of nulls."""
    @property
    def dtype(self) -> Any:
        """NumPy's bool, for pandas."""
    def is_null(self) -> Answers:
        """True where the key was null."""
    def fill_null(self, value: bool, /) -> Answers:
        """The same answers, with True or False for each null."""
    def tolist(self) -> list[bool | None]:
        """A list of True, False and None."""
    def to_numpy(self) -> Any:
        """A read-only array of bools on the same memory. ValueError if there are nulls."""
    def to_pandas(self) -> Any:
        """A pandas array of type "boolean", with NA for each null."""
    def to_polars(self) -> Any:
        """A polars Series of bools, with a null for each null."""

@disjoint_base
class Filter:
    """Opens a filter for lookups: sealed, live, or a series. `key in filter` is False if the key is certainly absent. a | b and a & b
    make the union and the intersection in memory, and a == b compares the answers that two filters give.

    verify: None checks each page when a lookup first touches it, True checks all of them now, False none. prefault:
    reads the whole file now. lock: also keeps it in memory. copy: reads a sealed filter into memory of this process; otherwise the
    file is mapped. A mapped file must not be changed in place: answers become wrong, and if it is truncated, SIGBUS kills the
    process. Publish a new version by a rename. tag, seed, key_kind: expected values. Another tag raises EDIFFERENTTAG, another seed EDIFFERENTSEED, a filter that does not accept such keys EKEYKIND.
    """

    def __init__(self, path: StrOrBytesPath, *, verify: bool | None = None, prefault: bool = False, lock: bool = False,
                 copy: bool = False, accept_unclean: bool = False, tag: _Buffer | None = None,
                 seed: int | None = None, key_kind: _KeyKind | None = None) -> None: ...
    @classmethod
    def from_bytes(cls, image: _Buffer, *, verify: bool | None = None, copy: bool = False,
                   tag: _Buffer | None = None, seed: int | None = None, key_kind: _KeyKind | None = None) -> Self:
        """Opens a sealed filter in memory. It keeps the buffer, which must not change, unless `copy` is true."""
    @classmethod
    def from_fd(cls, fd: FileDescriptorLike, offset: int = 0, length: int | None = None, *, verify: bool | None = None,
                prefault: bool = False, lock: bool = False, copy: bool = False,
                tag: _Buffer | None = None, seed: int | None = None, key_kind: _KeyKind | None = None) -> Self:
        """Opens a filter in a part of an open file, which may be closed afterwards."""
    def __contains__(self, key: _Key, /) -> bool: ...
    def contains(self, key: _Key, /) -> bool:
        """Whether the key is possibly present; False: it is certainly absent. The same as `key in filter`."""
    def contains_digest(self, digest: int, /) -> bool:
        """The same for a digest made by hash() with this filter's seed. A digest made with another seed is not found."""
    @overload
    def contains_many(self, keys: _Keys, /, *, out: None = None) -> Answers:
        """Looks up many keys and returns Answers, or fills `out`, a buffer of bools or bytes. keys: an iterable of str, bytes or
        integers; an array of integers; a column of pandas, polars or Arrow with strings, binary or integers. The answer for a null
        is null. Keys that do not fit the filter's kind raise EKEYKIND. After an error of the filter or of a key, each key
        without an answer has 1 in `out`; if an argument is refused, `out` is unchanged."""
    @overload
    def contains_many(self, keys: _Keys, /, *, out: _Out) -> _Out: ...
    @overload
    def contains_digests(self, digests: _Buffer, /, *, out: None = None) -> Answers:
        """The same for a buffer of uint64, or of 8 bytes for each digest, made by hash_many() with this filter's seed. Digests made
        with another seed are not found."""
    @overload
    def contains_digests(self, digests: _Buffer, /, *, out: _Out) -> _Out: ...
    @overload
    def contains_records(self, records: _Buffer, /, size: int | None = None, *, out: None = None) -> Answers:
        """The same for a buffer of keys of one size: the bytes of its items or rows. An array of integers wider than a byte holds
        integer keys; `size` with such an array raises a TypeError."""
    @overload
    def contains_records(self, records: _Buffer, /, size: int | None = None, *, out: _Out) -> _Out: ...
    @overload
    def contains_arrow(self, offsets: _Buffer, data: _Buffer, /, *, out: None = None) -> Answers:
        """The same for n keys: n + 1 offsets, int32 or int64, into a buffer of bytes."""
    @overload
    def contains_arrow(self, offsets: _Buffer, data: _Buffer, /, *, out: _Out) -> _Out: ...
    @overload
    def contains_spans(self, data: _Buffer, starts: _Buffer, ends: _Buffer, /, *, out: None = None) -> Answers:
        """The same for keys in a buffer of bytes: key i is data[starts[i]:ends[i]]. Keys may overlap. starts, ends: buffers of 64-bit
        integers."""
    @overload
    def contains_spans(self, data: _Buffer, starts: _Buffer, ends: _Buffer, /, *, out: _Out) -> _Out: ...
    @property
    def status(self) -> Exception | None:
        """None, or the error that lookups met. Damage: answers that depended on it were True. ECHANGED: the file was modified in
        place, and earlier answers may be wrong. If the file's ctime has changed, reading this attribute reads the pages again that
        answers relied on."""
    @property
    def stale(self) -> bool:
        """Whether to open the path again: it names another file now, cannot be examined, or the file has newer layers."""
    @property
    def fpr(self) -> float:
        """The target rate of false positives, up to `capacity` keys. measure().fpr is the actual rate."""
    @property
    def capacity(self) -> int:
        """The number of keys that keeps the rate. A slice has the capacity of the whole filter."""
    @property
    def keys(self) -> int:
        """The number of different keys. Live, or sealed from a live filter: the adds that were new. Other handles see adds only after
        a sync() or close(); those of a killed writer are not counted."""
    @property
    def bits_per_key(self) -> float:
        """Bits for each of `capacity` keys, or for each key if there are more."""
    @property
    def layout(self) -> _Layout:
        """'blocked', 'classic', 'counting' or 'ribbon'."""
    @property
    def kind(self) -> _KeyKind | Literal["newer"] | None:
        """The kind of its keys: 'text', 'lower', 'integers', 'bytes', the size of records, 'newer' if a later version defines it, or
        None: any."""
    @property
    def path(self) -> str | None:
        """The path as it was given; None: in memory, or opened by descriptor."""
    @property
    def seed(self) -> int:
        """The seed of its digests."""
    @property
    def closed(self) -> bool:
        """Whether close() was called."""
    def info(self) -> Info:
        """Returns size, keys, kind, label and state. inspect() returns the whole header."""
    def slice_range(self) -> tuple[int, int]:
        """Returns the first and the last digest that can be found absent: those of a slice, or all."""
    def measure(self) -> Measurement:
        """Counts the bits. Returns the fill and the actual rate of false positives."""
    def verify(self, threads: int = 1) -> None:
        """Reads and checks the whole file. Damage raises an exception with offset, page and field."""
    def seal_to(self, path: StrOrBytesPath, *, replace: bool = False) -> None:
        """Writes a sealed copy. The writers of a live filter may go on."""
    def to_bytes(self) -> bytes:
        """Returns the sealed copy as bytes, for from_bytes()."""
    def copy(self) -> Filter:
        """Returns a sealed copy in memory. Later adds to a live filter do not change it."""
    def __or__(self, other: Filter, /) -> Filter: ...
    def __ror__(self, other: Filter, /) -> Filter: ...
    def __and__(self, other: Filter, /) -> Filter: ...
    def __rand__(self, other: Filter, /) -> Filter: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    @classmethod
    def memory(cls, capacity: int = 0, fpr: float | None = None, *, layout: _Layout | None = None, bits: int = 0,
                  hashes: int = 0, seed: int = 0, label: str | None = None, tag: _Buffer = b"",
                  key_kind: _KeyKind | None = None, grow: bool = False, generations: int = 0,
                  every: int | timedelta | None = None, exact: bool = False, over_capacity: bool = False,
                  watermark: _Buffer = b"", sole_adder: bool = False) -> LiveFilter:
        """Makes an empty LiveFilter without a file, for this process and the children that it forks. sole_adder: only this process
        adds, which is faster. Other parameters are those of create(). grow: a child makes no layers. If it needs another, its adds
        raise EMISSINGLAYER, and after this process made one its lookups also return True for every key: use a file."""
    def close(self) -> None:
        """Waits until no other thread uses the filter, and closes it. A batch that has keys left raises a ValueError. A second call
        does nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

class LiveFilter(Filter):
    """A filter to which any number of threads and processes add at once.

    exact: if several callers add the same new key concurrently, exactly one gets True. over_capacity: accept keys
    instead of raising EFULL at twice the target rate. accept_unclean: after a crash, add the lost keys again before sync() or close(), which make the
    file clean. tag, seed, key_kind: expected values, as in Filter.
    """

    def __init__(self, path: StrOrBytesPath, *, exact: bool = False, accept_unclean: bool = False,
                 over_capacity: bool = False, tag: _Buffer | None = None,
                 seed: int | None = None, key_kind: _KeyKind | None = None) -> None: ...
    @classmethod
    def create(cls, path: StrOrBytesPath, capacity: int = 0, fpr: float | None = None, *, layout: _Layout | None = None,
               bits: int = 0, hashes: int = 0, seed: int = 0, label: str | None = None, tag: _Buffer = b"",
               key_kind: _KeyKind | None = None, grow: bool = False, generations: int = 0,
               every: int | timedelta | None = None, exact: bool = False, over_capacity: bool = False,
               watermark: _Buffer = b"", replace: bool = False) -> Self:
        """Makes a live filter and opens it. grow: adds larger layers once `capacity` is reached. generations: keeps that many, and
        forgets older ones; each holds `capacity` keys or lasts `every` seconds."""
    def add(self, key: _Key, /) -> bool:
        """Adds a key. Returns whether that changed the filter; False: the key was possibly present."""
    def add_digest(self, digest: int, /) -> bool:
        """The same for a digest made by hash() with this filter's seed. A digest made with another seed is never found."""
    @overload
    def add_many(self, keys: _Keys, /, *, out: None = None) -> Answers:
        """Adds many keys, as contains_many() takes them, and returns Answers: True if the key was new. A null is not added, and its
        answer is null. After any exception the first `done` keys, an attribute of it, were added, and `out` has their
        answers; all other keys have 1 there, unless an argument was refused. After EFULL only the first `done` keys were added."""
    @overload
    def add_many(self, keys: _Keys, /, *, out: _Out) -> _Out: ...
    @overload
    def add_digests(self, digests: _Buffer, /, *, out: None = None) -> Answers:
        """The same for digests, as contains_digests() takes them."""
    @overload
    def add_digests(self, digests: _Buffer, /, *, out: _Out) -> _Out: ...
    @overload
    def add_records(self, records: _Buffer, /, size: int | None = None, *, out: None = None) -> Answers:
        """The same for records, as contains_records() takes them."""
    @overload
    def add_records(self, records: _Buffer, /, size: int | None = None, *, out: _Out) -> _Out: ...
    @overload
    def add_arrow(self, offsets: _Buffer, data: _Buffer, /, *, out: None = None) -> Answers:
        """The same for offsets and bytes, as contains_arrow() takes them."""
    @overload
    def add_arrow(self, offsets: _Buffer, data: _Buffer, /, *, out: _Out) -> _Out: ...
    @overload
    def add_spans(self, data: _Buffer, starts: _Buffer, ends: _Buffer, /, *, out: None = None) -> Answers:
        """The same for spans, as contains_spans() takes them."""
    @overload
    def add_spans(self, data: _Buffer, starts: _Buffer, ends: _Buffer, /, *, out: _Out) -> _Out: ...
    def remove(self, key: _Key, /) -> None:
        """Undoes one add of the key, which must have been made. Only in the layout 'counting'."""
    def sync(self, *, watermark: _Buffer | None = None) -> None:
        """Writes the adds of all processes to disk. watermark: at most 32 bytes, recorded after they are on disk. Everything up to
        the watermark survives a loss of power; repeat later adds. A counting filter counts a repeated key twice."""
    def seal(self, *, watermark: _Buffer | None = None) -> None:
        """Gives the file checksums and ends adding. It stays open for reading. watermark: as in sync(); None keeps the watermark of
        the file. OSError (EBUSY) is raised if another handle has it open for writing, EISSERIES if it grows or forgets: use
        seal_to()."""
    def rescue(self, path: StrOrBytesPath, *, replace: bool = False) -> None:
        """Writes what memory holds to a new live file, after a write to the old one has failed."""

@disjoint_base
class Builder:
    """Collects keys, and makes a sealed filter of the exact size.

    key_kind: 'text', 'lower', 'integers', 'bytes', or the size of records; None: the kind of the first key. Keys of another kind
    raise EKEYKIND. Digests have no kind.

    fpr: None is 0.01, or what `bits` gives. layout: 'blocked' (None), 'classic', 'counting' or 'ribbon'. memory: bytes to take;
    digests beyond go to files in `spool`. slices: makes the slice of this number, from 0, of so many, for join(); capacity is that of
    the whole, and keys of other slices are left out. over_capacity: do not raise EFULL above twice the target rate.
    """

    def __init__(self, fpr: float | None = None, *, layout: _Layout | None = None, bits: int = 0, hashes: int = 0,
                 capacity: int = 0, seed: int = 0, label: str | None = None, tag: _Buffer = b"",
                 key_kind: _KeyKind | None = None, threads: int = 1, memory: int = 0,
                 spool: StrOrBytesPath | None = None, slice: int = 0, slices: int = 0,
                 over_capacity: bool = False, watermark: _Buffer = b"") -> None: ...
    def add(self, key: _Key, /) -> None:
        """Adds a key: str, bytes or an integer."""
    def add_digest(self, digest: int, /) -> None:
        """Adds a digest made by hash() with this builder's seed. A digest made with another seed is never found."""
    def add_many(self, keys: _Keys, /) -> None:
        """Adds many keys, as Filter.contains_many() takes them, without the nulls. After an exception some of them may have been
        added, and finish() refuses."""
    def add_digests(self, digests: _Buffer, /) -> None:
        """Adds a buffer of uint64, or of 8 bytes for each digest, made by hash_many() with this builder's seed."""
    def add_records(self, records: _Buffer, /, size: int | None = None) -> None:
        """Adds a buffer of keys of one size: the bytes of its items or rows. An array of integers wider than a byte holds integer
        keys; `size` with such an array raises a TypeError."""
    def add_arrow(self, offsets: _Buffer, data: _Buffer, /) -> None:
        """Adds n keys: n + 1 offsets, int32 or int64, into a buffer of bytes."""
    def add_spans(self, data: _Buffer, starts: _Buffer, ends: _Buffer, /) -> None:
        """Adds keys in a buffer of bytes: key i is data[starts[i]:ends[i]]. Keys may overlap. starts, ends: buffers of 64-bit
        integers."""
    def count(self) -> int:
        """Returns the number of different keys so far."""
    def set_tag(self, tag: _Buffer, /) -> None:
        """Replaces the tag, of at most 16 bytes."""
    def finish(self, path: StrOrBytesPath, *, replace: bool = False) -> None:
        """Writes the filter. It appears at the path whole and on disk, or not at all. After an exception from add_many() or another
        batch it raises OSError (ECANCELED), and while another thread adds a batch RuntimeError, because keys may be missing."""
    def to_bytes(self) -> bytes:
        """Returns the filter as bytes, for Filter.from_bytes()."""
    def close(self) -> None:
        """Releases memory and temporary files."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

# For bloomfile/__init__.py, errors.py and dask.py.
def hash_typed(keys: _Keys, seed: int, kind: _KeyKind | None, /) -> tuple[bytearray, _KeyKind | None]: ...
def inspect(head: bytes, size: int, /) -> tuple[Header, list[tuple[int, int, str]]]: ...
def errors() -> list[tuple[str, int, str]]: ...
def fold_plan(sources: Sequence[Filter], more: int, /) -> list[tuple[int, int, int, int, float, float]]: ...
def fold(dst: StrOrBytesPath, sources: Sequence[Filter], factor: int, replace: bool, /) -> None: ...
def merge_to_bytes(sources: Sequence[Filter], op: int, /) -> bytes: ...
def merge(dst: StrOrBytesPath, sources: Sequence[Filter], op: int, max_fpr: float | None, keys: int, label: str | None,
          tag: _Buffer, watermark: _Buffer, replace: bool, /) -> None: ...
def join(dst: StrOrBytesPath, sources: Sequence[Filter], accept_incomplete: bool, replace: bool, /) -> None: ...
def project(dst: StrOrBytesPath, sources: Sequence[Filter], replace: bool, /) -> None: ...
def delta(dst: StrOrBytesPath, sources: Sequence[Filter], threads: int, replace: bool, /) -> None: ...
def patch(dst: StrOrBytesPath, sources: Sequence[Filter], fd: int, threads: int, replace: bool, /) -> None: ...

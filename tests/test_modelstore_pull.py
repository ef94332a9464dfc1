"""Getting model files: from a folder, from this package, from a hub on loopback; checked always."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from localmem.errors import ConfigError, DownloadError, ModelCorruptError, ModelNotFoundError
from localmem.modelstore import Catalog, ModelStore, PullProgress
from localmem.modelstore.progress import ProgressMeter

_WEIGHTS = bytes(range(256)) * 4000
_SHA = hashlib.sha256(_WEIGHTS).hexdigest()


class Hub:
    """One file over real HTTP. `breaks_after` cuts the first answer short."""

    def __init__(self) -> None:
        self.content = _WEIGHTS
        self.breaks_after: int | None = None
        self.ranges: list[str | None] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


def _handler_for(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            hub.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            rest = hub.content[start:]
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            if hub.breaks_after is not None:
                rest, hub.breaks_after = rest[: hub.breaks_after], None
            self.wfile.write(rest)

        def log_message(self, format: str, *args: object) -> None:
            """Be silent."""

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    thread = Thread(target=hub.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield hub
    hub.server.shutdown()
    thread.join()
    hub.server.server_close()


def catalog(hub: str = "", *, sha256: str = "", source: str = "hub") -> Catalog:
    sources = {
        "hub": 'kind = "hub"\nrepo = "someone/tiny"\npath = "tiny.gguf"',
        "bundled": 'kind = "bundled"\nmember = "catalog.toml"',
        "local": f'kind = "local"\npattern = "{hub}/*/tiny.gguf"',
    }
    return Catalog.parse(
        f"""
hub = "{hub}"
[[model]]
name = "tiny"
kind = "llm"
title = "Tiny"
licence = "Apache-2.0"
[[model.file]]
role = "weights"
name = "tiny.gguf"
sha256 = "{sha256}"
[[model.file.source]]
{sources[source]}
""",
        where="test",
    )


def test_a_file_from_a_hub_arrives_whole_and_private(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url, sha256=_SHA))
    (pulled,) = store.pull("tiny")
    assert pulled.path.read_bytes() == _WEIGHTS
    assert pulled.path.stat().st_mode & 0o777 == 0o600
    assert store.path_of("tiny") == pulled.path


def test_a_broken_connection_is_resumed_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.breaks_after = 5000
    (pulled,) = ModelStore(tmp_path, catalog(hub.url, sha256=_SHA)).pull("tiny")
    assert pulled.path.read_bytes() == _WEIGHTS
    assert hub.ranges == [None, "bytes=5000-"]


def test_an_interrupted_pull_goes_on_at_the_next(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url, sha256=_SHA))

    def interrupt(progress: PullProgress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull("tiny", on_progress=interrupt)
    store.pull("tiny")
    assert hub.ranges[0] is None
    assert hub.ranges[1] is not None


def test_a_wrong_hash_is_refused_and_nothing_is_left(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url, sha256="0" * 64))
    with pytest.raises(ModelCorruptError) as caught:
        store.pull("tiny")
    assert (caught.value.expected, caught.value.actual) == ("0" * 64, _SHA)
    assert not list((tmp_path / "tiny").iterdir())


def test_an_unknown_hash_is_recorded_and_a_change_refused(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url))
    (pulled,) = store.pull("tiny")
    assert pulled.recorded
    assert pulled.sha256 == _SHA
    pulled.path.unlink()
    hub.content = b"something else"
    with pytest.raises(ModelCorruptError):
        store.pull("tiny")


def test_a_second_pull_fetches_nothing(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url))
    store.pull("tiny")
    (again,) = store.pull("tiny")
    assert not again.fetched
    assert len(hub.ranges) == 1


def test_a_damaged_file_is_noticed_at_the_quick_look(hub: Hub, tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(hub.url, sha256=_SHA))
    (pulled,) = store.pull("tiny")
    pulled.path.write_bytes(b"short")
    with pytest.raises(ModelCorruptError):
        store.llm("tiny")
    with pytest.raises(ModelCorruptError):
        store.verify("tiny")


def test_a_hub_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog("http://127.0.0.1:9"))
    with pytest.raises(DownloadError) as caught:
        store.pull("tiny")
    assert "network" in caught.value.hint
    assert not list((tmp_path / "tiny").iterdir())


def test_a_given_folder_comes_before_all_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "stick [1]"
    given.mkdir()
    (given / "tiny.gguf").write_bytes(_WEIGHTS)
    monkeypatch.setenv("LOCALMEM_MODEL_FILES", str(given))
    store = ModelStore(tmp_path / "models", catalog("http://127.0.0.1:9", sha256=_SHA))
    assert store.pull("tiny")[0].path.read_bytes() == _WEIGHTS


def test_a_pattern_finds_a_file_that_another_program_fetched(tmp_path: Path) -> None:
    (tmp_path / "snap1").mkdir()
    (tmp_path / "snap1" / "tiny.gguf").write_bytes(_WEIGHTS)
    store = ModelStore(tmp_path / "models", catalog(str(tmp_path), source="local"))
    assert store.pull("tiny")[0].sha256 == _SHA


def test_a_bundled_file_needs_no_network(tmp_path: Path) -> None:
    store = ModelStore(tmp_path, catalog(source="bundled"))
    assert store.pull("tiny")[0].path.read_text(encoding="utf-8").startswith("# Models as data")


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        ModelStore(tmp_path, Catalog.load()).path_of("smollm2-135m")
    assert caught.value.hint == "localmem models pull smollm2-135m"


def test_a_misspelt_name_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        ModelStore(tmp_path, Catalog.load()).llm("smollm-135m")
    assert "smollm2-135m" in caught.value.hint


def test_any_gguf_by_path_is_a_model(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert ModelStore(tmp_path, Catalog.load()).llm(str(own)).weights == own


def test_a_folder_with_an_onnx_file_is_an_embedder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"x")
    files = ModelStore(tmp_path, Catalog.load()).embedder(str(folder))
    assert files.name == "mine"
    assert files.sha256 == hashlib.sha256(b"x").hexdigest()


def test_a_folder_with_two_onnx_files_must_be_narrowed_down(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ModelNotFoundError, match=r"a\.onnx, b\.onnx"):
        ModelStore(tmp_path, Catalog.load()).embedder(str(tmp_path))


def test_a_catalog_with_a_missing_field_is_named() -> None:
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        Catalog.parse("[[model]]\nname = 'x'", where="mine.toml")


def test_the_shipped_catalog_knows_its_defaults() -> None:
    shipped = Catalog.load()
    assert {entry.name for entry in shipped.defaults()} == {"smollm2-135m", "minilm"}
    for entry in shipped.entries:
        assert entry.licence
        assert entry.memory_mb
        assert entry.for_whom
        assert entry.size


def test_progress_tells_rate_and_time_left() -> None:
    told: list[PullProgress] = []
    ticks = iter([0.0, 1.0, 2.0])
    meter = ProgressMeter("f", "s", told.append, monotonic=lambda: next(ticks))
    meter.at(100, 1100)
    meter.at(600, 1100)
    assert told[-1].bytes_per_second == pytest.approx(250.0)
    assert told[-1].seconds_left == pytest.approx(2.0)

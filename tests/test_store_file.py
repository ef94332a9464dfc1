"""The file itself: private, refused where it is not ours, migrated where it is old."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from localmem.errors import SchemaTooNewError, StoreError
from localmem.store import Store, database, meta, migrations
from localmem.store.transactions import transaction

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def modes(folder: Path) -> set[str]:
    return {oct(file.stat().st_mode & 0o777) for file in folder.iterdir()}


def test_every_file_of_a_memory_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Store(tmp_path / "memory.duckdb", idle_s=5) as store:
            store.begin_import("f", "s", NOW)
            assert "memory.duckdb.wal" in {file.name for file in tmp_path.iterdir()}
            assert modes(tmp_path) == {"0o600"}
        assert modes(tmp_path) == {"0o600"}
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


@pytest.mark.parametrize("content", [b"hello world" * 1000, b"{}"])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with Store(path) as store:
        with pytest.raises(StoreError, match="is not a memory") as caught:
            store.generation()
        with pytest.raises(StoreError):
            store.begin_import("f", "s", NOW)
    assert "--memory" in caught.value.hint
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    duckdb.connect(str(path)).execute("CREATE TABLE orders (id INTEGER)").close()
    before = path.read_bytes()
    with Store(path) as store:
        with pytest.raises(StoreError, match="not a memory of localmem"):
            store.generation()
        with pytest.raises(StoreError, match="not a memory of localmem"):
            store.begin_import("f", "s", NOW)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    path.touch()
    with Store(path) as store:
        assert store.generation() == 0


def test_a_memory_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        store.begin_import("f", "s", NOW)
    connection = database.open_for_writing(path)
    with transaction(connection):
        meta.put(connection, meta.SCHEMA_VERSION, 99)
    database.close(connection)
    with Store(path) as store, pytest.raises(SchemaTooNewError, match="schema 99") as caught:
        store.generation()
    assert "pip install --upgrade" in caught.value.hint


def test_each_migration_runs_once_and_whole(tmp_path: Path) -> None:
    def fine(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE TABLE second (id INTEGER)")

    def broken(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE TABLE third (id INTEGER)")
        connection.execute("SELECT * FROM nowhere")

    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        store.generation()
    connection = database.open_for_writing(path)
    steps = (*migrations.MIGRATIONS, fine)
    migrations.migrate(connection, steps)
    migrations.migrate(connection, steps)
    with pytest.raises(duckdb.CatalogException):
        migrations.migrate(connection, (*steps, broken))
    assert migrations.version_of(connection) == len(steps)
    assert (
        connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'third'").fetchall()
        == []
    )
    connection.close()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "nowhere" / "memory.duckdb") as store,
        pytest.raises(StoreError) as caught,
    ):
        store.generation()
    assert str(tmp_path / "nowhere") in str(caught.value)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        Store(tmp_path / "file" / "memory.duckdb") as store,
        pytest.raises(StoreError, match="cannot be opened") as caught,
    ):
        store.generation()
    assert "writable" in caught.value.hint


def test_a_full_disk_is_a_store_error_and_what_was_stored_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        store.set_owner("Anna")
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from localmem.store import Store; from localmem.types import IndexSnapshot\n"
        "from localmem.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))\n"
        "try:\n"
        "    with Store(Path(sys.argv[1])) as store:\n"
        "        store.put_snapshot(IndexSnapshot('k', 1, '', 0, bytes(range(256)) * 100_000))\n"
        "except StoreError as error: print('refused:', error.message, error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("refused:"), done.stderr
    with Store(path) as store:
        owner = store.owner()
        assert owner is not None
        assert owner.name == "Anna"
        assert store.get_snapshot("k") is None


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH 'other.duckdb'",
        "COPY meta TO 'meta.csv'",
        "SELECT * FROM read_text('x')",
        "INSTALL fts",
    ],
)
def test_an_open_memory_cannot_reach_other_files_or_the_network(
    tmp_path: Path, statement: str
) -> None:
    connection = database.open_for_writing(tmp_path / "memory.duckdb")
    with pytest.raises(duckdb.PermissionException):
        connection.execute(statement)
    with pytest.raises(duckdb.InvalidInputException):
        connection.execute("SET enable_external_access = true")
    connection.close()


def test_a_name_with_a_quote_is_only_a_name(tmp_path: Path) -> None:
    path = tmp_path / 'Anna\'s "memory"; DROP TABLE meta.duckdb'
    with Store(path) as store:
        import_id = store.begin_import("f", "s", NOW)
        assert store.undo_import(import_id).messages == 0
        assert store.list_imports()[0].undone


def test_rewriting_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.duckdb", tmp_path / "link.duckdb"
    with Store(real) as store:
        import_id = store.begin_import("f", "s", NOW)
    link.symlink_to(real)
    with Store(link) as store:
        store.undo_import(import_id)
    assert link.is_symlink()
    with Store(real) as store:
        assert store.list_imports()[0].undone


def test_a_program_that_ends_without_closing_leaves_a_good_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    script = (
        "import sys; from pathlib import Path; from localmem.store import Store\n"
        "store = Store(Path(sys.argv[1]), idle_s=60); store.set_owner('Anna')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    with Store(path, patience_s=1) as store:
        assert store.find_participant("anna").is_owner

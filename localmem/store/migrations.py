"""How a memory file comes to the current schema: numbered steps, each one transaction.

A step is never altered after a release; a change of the schema is a new step.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection as Connection

from localmem.errors import SchemaTooNewError, StoreError
from localmem.store import (
    fact_pages,
    items,
    lasting,
    layers,
    meta,
    personas,
    talks,
    tiers,
    tombstones,
    usage,
    voices,
)
from localmem.store.transactions import transaction

# No keys and indexes on the large tables: every writer holds the file alone and checks for
# itself, scans of an id column are fast, and an index costs more at each checkpoint than it saves.
_FIRST_SCHEMA = """
CREATE TABLE meta (key VARCHAR, value VARCHAR);
CREATE TABLE import (
    id BIGINT, path VARCHAR, source VARCHAR, started_at TIMESTAMPTZ, finished BOOLEAN,
    undone BOOLEAN, conversations_seen INTEGER, conversations_added INTEGER,
    conversations_grown INTEGER, messages_known INTEGER, problems VARCHAR);
CREATE TABLE participant (
    id BIGINT, name VARCHAR, is_owner BOOLEAN, is_assistant BOOLEAN, is_placeholder BOOLEAN);
CREATE TABLE alias (participant_id BIGINT, folded VARCHAR, name VARCHAR);
CREATE TABLE conversation (
    id BIGINT, source VARCHAR, source_id VARCHAR, kind VARCHAR, import_id BIGINT);
CREATE TABLE conversation_title (conversation_id BIGINT, import_id BIGINT, title VARCHAR);
CREATE TABLE session (id BIGINT, conversation_id BIGINT);
CREATE TABLE turn (id BIGINT, session_id BIGINT);
CREATE TABLE message (
    id BIGINT, turn_id BIGINT, session_id BIGINT, conversation_id BIGINT, participant_id BIGINT,
    import_id BIGINT, role VARCHAR, ordinal INTEGER, text VARCHAR, attachment_text VARCHAR,
    said_at TIMESTAMPTZ, utc_offset_min SMALLINT, source_id VARCHAR, parent_source_id VARCHAR,
    on_path BOOLEAN, generation BIGINT);
CREATE TABLE path_change (import_id BIGINT, message_id BIGINT, was_on_path BOOLEAN);
CREATE TABLE resolved_date (
    message_id BIGINT, begin_at INTEGER, stop_at INTEGER, words VARCHAR, start_day DATE,
    end_day DATE, granularity VARCHAR, open_end BOOLEAN);
CREATE TABLE turn_summary (
    turn_id BIGINT, sentence VARCHAR, keywords VARCHAR, tags VARCHAR, model_id VARCHAR,
    prompt_sha VARCHAR, source_sha VARCHAR, generation BIGINT);
CREATE TABLE vector_page (
    model_id VARCHAR, dimension INTEGER, generation BIGINT, message_ids BLOB, chunk_numbers BLOB,
    unit_rows BLOB);
CREATE TABLE vector_blank (model_id VARCHAR, message_id BIGINT);
CREATE TABLE index_snapshot (
    name VARCHAR, generation BIGINT, model_id VARCHAR, dimension INTEGER, sha256 VARCHAR,
    content BLOB);
"""


def _create_tables(connection: Connection) -> None:
    connection.execute(_FIRST_SCHEMA)


def _create_people_tables(connection: Connection) -> None:
    voices.create_tables(connection)
    tombstones.create_tables(connection)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _create_tables,
    layers.create_tables,
    usage.create_tables,
    _create_people_tables,
    items.create_tables,
    fact_pages.create_tables,
    personas.create_tables,
    tiers.create_tables,
    lasting.create_tables,
    talks.create_tables,
)
"""Step i brings a memory from version i to version i + 1."""

LATEST = len(MIGRATIONS)


def migrate(connection: Connection, steps: tuple[Callable[[Connection], None], ...]) -> None:
    """Run the steps that the memory lacks. It must not be newer than the steps."""
    for number in range(version_of(connection), len(steps)):
        with transaction(connection):
            steps[number](connection)
            meta.put(connection, meta.SCHEMA_VERSION, number + 1)


def version_of(connection: Connection) -> int:
    """The schema version; 0 for a database without tables, -1 for one that is not a memory."""
    try:
        return meta.get_int(connection, meta.SCHEMA_VERSION) or -1
    except duckdb.Error as error:  # there is no such table, or it has other columns
        if not isinstance(error, duckdb.CatalogException | duckdb.BinderException):
            raise
        tables = connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchall()
        return -1 if tables else 0


def check_version(memory: Path, version: int) -> None:
    """Refuse a file that this program must not touch.

    Raises:
        SchemaTooNewError: a newer program wrote it.
        StoreError: it is a database of something else.
    """
    if version > LATEST:
        raise SchemaTooNewError(
            f"{memory} has schema {version}, this program knows schemas up to {LATEST}",
            hint="update: pip install --upgrade localmem-desktop",
        )
    if version < 0:
        raise StoreError(
            f"{memory} is a DuckDB database, but not a memory of localmem",
            hint="name another file with --memory",
        )

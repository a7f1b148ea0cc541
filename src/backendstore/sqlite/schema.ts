/** The tables, and how a connection is set up. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { tokenizeOption } from './encoding.ts'

/** Kept in `user_version`. Raise it whenever documents or tables change: an older file is made anew, not migrated. */
export const SCHEMA_VERSION = 4

/** Sort keys of one document; pods have about 22. A kind's later ones are not sortable. */
export const SORT_SLOTS = 32

/** The column of a document's sort keys that lists the values of fields that have several: JSON, by path. */
export const SEVERAL = 'several'

/** So many of the documents that are gone are told in `removed`; a reader that is behind more starts anew. */
export const REMOVED_KEPT = 100_000

/** Larger pages hold more rows; FTS5 fills one page each with a leaf of 8,000 bytes. */
const PAGE_BYTES = 8_192
const FTS_PAGE_BYTES = 8_000

/** Each FTS5 table's buffer, a hash table that is sorted when full: what fits the processor's cache is sorted twice as fast as 32 MB. */
const FTS_BUFFER_BYTES = 1024 * 1024

/** Segments of a level before they are merged: 16 writes a tenth faster than 8 and reads as fast (bench/sqlite.ts). */
const FTS_AUTOMERGE = 16

const FTS_OPTIONS = { pgsz: FTS_PAGE_BYTES, hashsize: FTS_BUFFER_BYTES, automerge: FTS_AUTOMERGE }

/** Pages, as negative KiB. The rest is the operating system's to cache. */
const CACHE_KIB = 16 * 1024
const WAL_LIMIT_BYTES = 64 * 1024 * 1024
const BUSY_TIMEOUT_MS = 5_000

/** Terms: no positions, since each is a token by itself. Their expressions know neither phrases nor columns. */
export const TERMS = 'term_index'
/** Words, by the parts of a document; with positions, for phrases. */
export const WORDS = 'word_index'

export function slotColumns(): string[] {
  return Array.from({ length: SORT_SLOTS }, (_, i) => `s${i}`)
}

/** For every connection. */
export function configure(db: DatabaseSync): void {
  db.exec(`
    PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};
    PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA mmap_size = 0;
    PRAGMA temp_store = MEMORY;
  `)
}

/** For the writer: makes what is missing. */
export function createSchema(db: DatabaseSync): void {
  db.exec(`
    PRAGMA page_size = ${PAGE_BYTES};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES};
  `)
  db.exec('BEGIN')
  db.exec(`
    CREATE TABLE IF NOT EXISTS resource (
      id INTEGER PRIMARY KEY, grp TEXT NOT NULL, version TEXT NOT NULL, resource TEXT NOT NULL, kind TEXT NOT NULL,
      UNIQUE (grp, resource)
    );
    CREATE TABLE IF NOT EXISTS shard (
      id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, resource INTEGER NOT NULL, UNIQUE (cluster, resource)
    );
    CREATE TABLE IF NOT EXISTS slot (
      resource INTEGER NOT NULL, path TEXT NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (resource, path)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS path (code INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS doc (
      id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, resource INTEGER NOT NULL, namespace TEXT NOT NULL,
      name TEXT NOT NULL, uid TEXT NOT NULL, resource_name TEXT NOT NULL, name_fold TEXT, version TEXT NOT NULL,
      body_hash INTEGER NOT NULL, index_hash INTEGER NOT NULL, index_hash_more INTEGER NOT NULL,
      shard INTEGER NOT NULL, name_key INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS sort_key (id INTEGER PRIMARY KEY, ${slotColumns().join(', ')}, ${SEVERAL} TEXT);
    CREATE TABLE IF NOT EXISTS removed (seq INTEGER PRIMARY KEY, doc INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS doc_name ON doc (shard, name_key);
    CREATE VIRTUAL TABLE IF NOT EXISTS ${TERMS} USING fts5 (
      terms, content = '', contentless_delete = 1, detail = none, tokenize = ${tokenizeOption()}
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS ${WORDS} USING fts5 (
      name, strong, other, content = '', contentless_delete = 1, detail = full, tokenize = ${tokenizeOption()}
    );
  `)
  for (const table of [TERMS, WORDS]) {
    for (const [option, value] of Object.entries(FTS_OPTIONS)) {
      db.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('${option}', ${value})`) // a bound number would arrive as a REAL
    }
  }
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}

/** For readers, whose view of the vocabulary is their own. */
export function createVocabulary(db: DatabaseSync): void {
  db.exec(`
    CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, ${TERMS}, row);
    CREATE VIRTUAL TABLE temp.occurrence USING fts5vocab (main, ${TERMS}, instance);
    CREATE VIRTUAL TABLE temp.word USING fts5vocab (main, ${WORDS}, row);
    CREATE VIRTUAL TABLE temp.word_occurrence USING fts5vocab (main, ${WORDS}, instance);
    CREATE TABLE temp.hit (id INTEGER PRIMARY KEY);
  `)
}

export function schemaVersion(db: DatabaseSync): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}

/** A statement to `run`, which reports the last row id inserted by anybody: FTS5's own tables have ids beyond 2^53. */
export function writing(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

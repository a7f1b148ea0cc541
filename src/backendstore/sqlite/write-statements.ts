/** What the writer asks of its tables. */
import type { DatabaseSync } from 'node:sqlite'
import { SORT_SLOTS, TERMS, WORDS, writing } from './schema.ts'

export type WriteStatements = ReturnType<typeof writeStatements>

export function writeStatements(db: DatabaseSync) {
  return {
    find: db.prepare(
      `SELECT id, uid, version, body_hash, index_hash, index_hash_more FROM doc
       WHERE shard = ? AND name_key = ? AND namespace = ? AND name = ?`,
    ),
    insertPath: writing(db, 'INSERT OR IGNORE INTO path VALUES (?, ?)'),
    insertDoc: writing(db, `INSERT INTO doc VALUES (${parameters(14)})`),
    insertKeys: writing(db, `INSERT OR REPLACE INTO sort_key VALUES (${parameters(2 + SORT_SLOTS)})`),
    updateDoc: writing(db, 'UPDATE doc SET uid = ?, version = ?, body_hash = ? WHERE id = ?'),
    insertTerms: writing(db, `INSERT INTO ${TERMS} (rowid, terms) VALUES (?, ?)`),
    insertWords: writing(db, `INSERT INTO ${WORDS} (rowid, name, strong, other) VALUES (?, ?, ?, ?)`),
    deleteTerms: writing(db, `DELETE FROM ${TERMS} WHERE rowid IN (SELECT value FROM json_each(?))`),
    deleteWords: writing(db, `DELETE FROM ${WORDS} WHERE rowid IN (SELECT value FROM json_each(?))`),
    deleteDocs: writing(db, 'DELETE FROM doc WHERE id IN (SELECT value FROM json_each(?))'),
    deleteKeys: writing(db, 'DELETE FROM sort_key WHERE id IN (SELECT value FROM json_each(?))'),
    tellRemoved: writing(db, 'INSERT INTO removed (doc) SELECT value FROM json_each(?)'),
    forgetRemoved: writing(db, 'DELETE FROM removed WHERE seq <= (SELECT max(seq) FROM removed) - ?'),
    idsOfShard: db.prepare('SELECT id FROM doc WHERE shard = ? LIMIT ?'),
    namesOfShard: db.prepare('SELECT id, namespace, name FROM doc WHERE shard = ?'),
    shards: db.prepare(
      `SELECT s.cluster, r.grp AS "group", r.resource, counted.objects
       FROM (SELECT shard, count(*) AS objects FROM doc GROUP BY shard) AS counted
       JOIN shard s ON s.id = counted.shard JOIN resource r ON r.id = s.resource`,
    ),
    size: db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size'),
    maxId: db.prepare(
      `SELECT max(coalesce((SELECT max(id) FROM doc), 0), coalesce((SELECT max(id) FROM ${TERMS}_docsize), 0),
                  coalesce((SELECT max(id) FROM ${WORDS}_docsize), 0)) AS id`,
    ),
  }
}

function parameters(count: number): string {
  return new Array<string>(count).fill('?').join(', ')
}

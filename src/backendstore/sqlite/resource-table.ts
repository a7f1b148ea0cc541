/** Which resources and shards have documents, and in which slot of a row each of a resource's sort keys stands. */
import type { DatabaseSync } from 'node:sqlite'
import type { ShardIdentity } from '../backend-store.ts'
import { SORT_SLOTS, writing } from './schema.ts'

export type ShardName = Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>

interface Known {
  readonly id: number
  readonly version: string
  readonly kind: string
}

export class ResourceTable {
  readonly #db: DatabaseSync
  #resources = new Map<string, Known>()
  #slots = new Map<number, Map<string, number>>()
  /** By resource, then by cluster. */
  #shards = new Map<number, Map<string, number>>()

  constructor(db: DatabaseSync) {
    this.#db = db
    this.reload()
  }

  /** After a rollback: what was added is gone. */
  reload(): void {
    this.#resources = new Map()
    this.#slots = new Map()
    this.#shards = new Map()
    for (const row of this.#db.prepare('SELECT id, grp, version, resource, kind FROM resource').all()) {
      const { id, grp, version, resource, kind } = row as unknown as Known & { grp: string; resource: string }
      this.#resources.set(`${grp}/${resource}`, { id, version, kind })
    }
    for (const row of this.#db.prepare('SELECT resource, path, slot FROM slot').all()) {
      const { resource, path, slot } = row as { resource: number; path: string; slot: number }
      inner(this.#slots, resource).set(path, slot)
    }
    for (const row of this.#db.prepare('SELECT id, cluster, resource FROM shard').all()) {
      const { id, cluster, resource } = row as { id: number; cluster: string; resource: number }
      inner(this.#shards, resource).set(cluster, id)
    }
  }

  find(group: string, resource: string): number | undefined {
    return this.#resources.get(`${group}/${resource}`)?.id
  }

  /** Adds it where it is new. Another version of a resource makes all its documents stale: they say which they are of. */
  idOf({ group, version, resource, kind }: ShardIdentity): number {
    const known = this.#resources.get(`${group}/${resource}`)
    if (known?.version === version && known.kind === kind) return known.id
    const { id } = this.#db
      .prepare(
        `INSERT INTO resource (grp, version, resource, kind) VALUES (?, ?, ?, ?)
         ON CONFLICT (grp, resource) DO UPDATE SET version = excluded.version, kind = excluded.kind RETURNING id`,
      )
      .get(group, version, resource, kind) as { id: number }
    if (known !== undefined) writing(this.#db, `UPDATE doc SET version = '' WHERE resource = ?`).run(id)
    this.#resources.set(`${group}/${resource}`, { id, version, kind })
    return id
  }

  /** Undefined where a resource has more sort keys than a row has slots. */
  slotOf(resource: number, path: string): number | undefined {
    const slots = inner(this.#slots, resource)
    const known = slots.get(path)
    if (known !== undefined || slots.size >= SORT_SLOTS) return known
    const slot = slots.size
    writing(this.#db, 'INSERT INTO slot (resource, path, slot) VALUES (?, ?, ?)').run(resource, path, slot)
    slots.set(path, slot)
    return slot
  }

  /** Undefined where the shard has no documents. */
  findShard({ cluster, group, resource }: ShardName): number | undefined {
    const id = this.find(group, resource)
    return id === undefined ? undefined : this.#shards.get(id)?.get(cluster)
  }

  /** Adds it where it is new. */
  shardOf(cluster: string, resource: number): number {
    const shards = inner(this.#shards, resource)
    let id = shards.get(cluster)
    if (id === undefined) {
      const sql = 'INSERT INTO shard (cluster, resource) VALUES (?, ?) RETURNING id'
      id = (this.#db.prepare(sql).get(cluster, resource) as { id: number }).id
      shards.set(cluster, id)
    }
    return id
  }

  /** It has no documents any more. */
  dropShard(id: number): void {
    writing(this.#db, 'DELETE FROM shard WHERE id = ?').run(id)
    for (const shards of this.#shards.values()) {
      for (const [cluster, shard] of shards) if (shard === id) shards.delete(cluster)
    }
  }
}

function inner<Value>(maps: Map<number, Map<string, Value>>, key: number): Map<string, Value> {
  let map = maps.get(key)
  if (map === undefined) maps.set(key, (map = new Map()))
  return map
}

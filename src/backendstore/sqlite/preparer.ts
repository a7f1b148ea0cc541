/** Makes of objects what the writing thread puts into the tables: half of all work, done while that writes the last batch. */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { columnsOf } from '../../kube/columns/index.ts'
import { DocumentBuilder, type SearchDocument } from '../../query/document.ts'
import type { Change, ShardIdentity, Upsert } from '../backend-store.ts'
import { GrowingText } from '../growing-text.ts'
import { PathCodes } from './path-codes.ts'
import { DELETE, HASHES, PLACES, REFUSED, TEXT_COUNT, TEXTS, UPSERT, type PreparedBatch } from './prepared-batch.ts'
import { termBytes } from './term-bytes.ts'

/** Fields that may have several values and are counted by them (`counts.ts`). */
const COUNTED_WHOLE = ['owner', 'node', 'image'] as const

/** Of a change, in the room that a pod takes: it is made larger where that is too little. */
const TEXT_BYTES = 6 * 1024

export class Preparer {
  readonly #codes: PathCodes
  readonly #builder: DocumentBuilder<string, Uint8Array>
  /** By resource: the paths of its sort keys, each at its place. They are a kind's fields, so they are few. */
  readonly #sortPaths = new Map<string, Map<string, number>>()

  /** `knownPaths`: those that have codes, by code. */
  constructor(knownPaths: readonly string[], maxPaths?: number) {
    this.#codes = new PathCodes(knownPaths, maxPaths)
    this.#builder = new DocumentBuilder(termBytes(this.#codes.spell))
  }

  prepare(batch: Iterable<Change>): PreparedBatch {
    const changes = lastOfEachName(batch)
    const draft = new Draft(changes.length)
    for (const change of changes) this.#add(draft, change)
    return draft.finish(this)
  }

  sortPathsOf({ group, resource }: Pick<ShardIdentity, 'group' | 'resource'>): Map<string, number> {
    const key = `${group}/${resource}`
    let paths = this.#sortPaths.get(key)
    if (paths === undefined) this.#sortPaths.set(key, (paths = new Map()))
    return paths
  }

  takeNewPaths(): PreparedBatch['newPaths'] {
    return this.#codes.takeNew()
  }

  #add(draft: Draft, change: Change): void {
    if (change.type === 'delete') return draft.addDelete(change)
    let document: SearchDocument<Uint8Array>
    try {
      document = this.#builder.build(change, change.bytes, columnsOf(change))
    } catch (error) {
      return draft.addRefused(change, error instanceof Error ? error.message : String(error))
    }
    draft.addDocument(change, document, this.#keys(change, document))
  }

  #keys(change: Upsert, { sortKeys, values }: SearchDocument<unknown>): string {
    const places = this.sortPathsOf(change)
    const keys: string[] = new Array<string>(places.size + 1).fill('')
    keys[0] = severalOf(values)
    for (const [path, key] of sortKeys) {
      let place = places.get(path)
      if (place === undefined) places.set(path, (place = places.size))
      keys[place + 1] = key
    }
    return keys.join('\n')
  }
}

class Draft {
  readonly #shards = new Map<string, { readonly index: number; readonly shard: ShardIdentity }>()
  readonly #texts: GrowingText
  readonly #places: Int32Array<ArrayBuffer>
  readonly #hashes: Float64Array<ArrayBuffer>
  #changes = 0

  constructor(changes: number) {
    this.#texts = new GrowingText(new ArrayBuffer(changes * TEXT_BYTES))
    this.#places = new Int32Array(changes * PLACES)
    this.#hashes = new Float64Array(changes * HASHES)
  }

  addDelete(change: Change): void {
    this.#add(change, DELETE, [identityOf(change)])
  }

  addRefused(change: Upsert, reason: string): void {
    this.#add(change, REFUSED, [identityOf(change), reason])
  }

  addDocument(change: Upsert, document: SearchDocument<Uint8Array>, keys: string): void {
    const { terms, nameWords, strongWords, otherWords } = document
    const texts = [identityOf(change), keys, terms, nameWords, strongWords, otherWords]
    const place = this.#add(change, UPSERT, texts)
    this.#hashes.set([crc32(change.bytes), ...this.#indexHashes(place)], place * HASHES)
  }

  finish(preparer: Preparer): PreparedBatch {
    const shards = [...this.#shards.values()].map(({ shard }) => shard)
    return {
      shards: shards.map(({ cluster, group, version, resource, kind }) => ({
        cluster,
        group,
        version,
        resource,
        kind,
      })),
      sortPaths: shards.map((shard) => [...preparer.sortPathsOf(shard).keys()]),
      newPaths: preparer.takeNewPaths(),
      texts: this.#texts.bytes(),
      places: this.#places,
      hashes: this.#hashes,
    }
  }

  #add(change: Change, type: number, texts: readonly (string | Uint8Array)[]): number {
    const place = this.#changes++
    let at = place * PLACES
    this.#places[at++] = this.#shardOf(change)
    this.#places[at++] = type
    for (let i = 0; i < TEXT_COUNT; i++) {
      this.#texts.add(texts[i] ?? '')
      this.#places[at++] = this.#texts.length
    }
    return place
  }

  #shardOf(change: Change): number {
    const key = `${change.cluster}\n${change.group}\n${change.version}\n${change.resource}\n${change.kind}`
    let known = this.#shards.get(key)
    if (known === undefined) this.#shards.set(key, (known = { index: this.#shards.size, shard: change }))
    return known.index
  }

  /** 96 bits of what goes into the index, in numbers that SQLite and JavaScript both hold. */
  #indexHashes(place: number): [number, number] {
    const at = place * PLACES + 2
    const [begin, end] = [this.#places[at + TEXTS.terms - 1], this.#places[at + TEXTS.other]]
    const digest = hash('sha256', this.#texts.bytes().subarray(begin, end)) // as hex: quicker than as a Buffer
    return [Number.parseInt(digest.slice(0, 12), 16), Number.parseInt(digest.slice(12, 24), 16)]
  }
}

function identityOf(change: Change): string {
  const { namespace, name } = change
  const [uid, version] = change.type === 'upsert' ? [change.uid, change.resourceVersion] : ['', '']
  return `${namespace}\n${uid}\n${version}\n${name}`
}

/** JSON of those of which the document has several, by path; empty where there are none. */
function severalOf(values: SearchDocument<unknown>['values']): string {
  let several: Record<string, readonly string[]> | undefined
  for (const path of COUNTED_WHOLE) {
    const found = values.get(path)
    if (found !== undefined && found.length > 1) (several ??= {})[path] = found
  }
  return several === undefined ? '' : JSON.stringify(several)
}

/** Only the last change of a name counts. */
function lastOfEachName(batch: Iterable<Change>): Change[] {
  const last = new Map<string, Change>()
  for (const change of batch) {
    const { cluster, group, resource, namespace, name } = change
    last.set(`${cluster}\n${group}\n${resource}\n${namespace}\n${name}`, change)
  }
  return [...last.values()]
}

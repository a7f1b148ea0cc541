/**
 * etcd's v3 messages, as far as registries need them. Source: etcd api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto
 * (field numbers are the protocol). Keys are text here: those of registries are ASCII.
 */
import { ProtoWriter, readMessage } from './protobuf.ts'

/** One kind of request: where it goes, and how its answer is read. */
export interface Rpc<Answer> {
  readonly path: string
  readonly request: Buffer
  decode(answer: Buffer): Answer
}

export interface KeyValue {
  readonly key: string
  readonly value: Buffer
  readonly createRevision: bigint
  readonly modRevision: bigint
  /** How often it was written since it was created. */
  readonly version: bigint
}

export interface RangeOptions {
  readonly key: string
  /** Exclusive; absent: the one key. */
  readonly end?: string
  readonly limit?: number
  /** Absent: the current one, agreed by a majority of the members. */
  readonly revision?: bigint
}

export interface RangeAnswer {
  /** Of the whole store, when this was read. */
  readonly revision: bigint
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
}

export function range(options: RangeOptions): Rpc<RangeAnswer> {
  return { path: '/etcdserverpb.KV/Range', request: rangeRequest(options), decode: readRange }
}

export type Mutation = { readonly put: Uint8Array } | 'delete'

export interface WriteOptions {
  readonly key: string
  /** The write is done where the key was last written at this revision; 0: where it does not exist. */
  readonly expected: bigint
  readonly mutation: Mutation
}

export interface WriteAnswer {
  /** Where done: that of the write. */
  readonly revision: bigint
  readonly done: boolean
  /** What is there instead, where it was not done. */
  readonly found: KeyValue | undefined
}

/** The same three transactions as a kube-apiserver sends: servers that only look like etcd know no others. */
export function write({ key, expected, mutation }: WriteOptions): Rpc<WriteAnswer> {
  const isExpected = new ProtoWriter().number(2, MOD).bytes(3, key).explicitNumber(6, expected).finish()
  const operation =
    mutation === 'delete'
      ? new ProtoWriter().message(3, new ProtoWriter().bytes(1, key).finish())
      : new ProtoWriter().message(2, new ProtoWriter().bytes(1, key).bytes(2, mutation.put).finish())
  const lookUp = new ProtoWriter().message(1, rangeRequest({ key }))
  const request = new ProtoWriter()
    .message(1, isExpected)
    .message(2, operation.finish())
    .message(3, lookUp.finish())
    .finish()
  return { path: '/etcdserverpb.KV/Txn', request, decode: readWrite }
}

const MOD = 2 // Compare.CompareTarget: the revision of the last modification; result 0 is EQUAL

export interface Turn {
  /** Of the whole store, when this was answered. */
  readonly revision: bigint
  readonly taken: boolean
  /** To ask for next. */
  readonly turn: bigint
}

const TURN_KEY = 'compact_rev_key' // the same for every API server that shares the etcd, outside of all prefixes
const VERSION = 0 // Compare.CompareTarget: how often the key was written

/** Takes the turn `turn` of compacting, and writes down to which revision; one of all that ask has it. */
export function takeTurn(turn: bigint, revision: bigint): Rpc<Turn> {
  const isTurn = new ProtoWriter().number(2, VERSION).bytes(3, TURN_KEY).explicitNumber(4, turn).finish()
  const put = new ProtoWriter().bytes(1, TURN_KEY).bytes(2, String(revision)).finish()
  const request = new ProtoWriter()
    .message(1, isTurn)
    .message(2, new ProtoWriter().message(2, put).finish())
    .message(3, new ProtoWriter().message(1, rangeRequest({ key: TURN_KEY })).finish())
    .finish()
  return {
    path: '/etcdserverpb.KV/Txn',
    request,
    decode(answer) {
      const { revision: current, done, found } = readWrite(answer)
      return { revision: current, taken: done, turn: done ? turn + 1n : (found?.version ?? 0n) }
    },
  }
}

/** Forgets revisions below this one. */
export function compact(revision: bigint): Rpc<void> {
  const request = new ProtoWriter().number(1, revision).finish()
  return { path: '/etcdserverpb.KV/Compact', request, decode: () => undefined }
}

/** The server's version, e.g. `3.6.1`. */
export function serverVersion(): Rpc<string> {
  return {
    path: '/etcdserverpb.Maintenance/Status',
    request: Buffer.alloc(0),
    decode(answer) {
      let version = ''
      readMessage(answer, { bytes: { 2: (value) => (version = value.toString()) } })
      return version
    },
  }
}

export const WATCH_PATH = '/etcdserverpb.Watch/Watch'

/** Events of all keys under `key`, from the revision `start` on, with what was there before. */
export function watchRequest({ key, end, start }: { key: string; end: string; start: bigint }): Buffer {
  const create = new ProtoWriter()
    .bytes(1, key)
    .bytes(2, end)
    .number(3, start)
    .bool(4, true) // progress_notify: an empty answer every few minutes where nothing happens
    .bool(6, true) // prev_kv
    .bool(8, true) // fragment: answers above the server's limit come in parts
  return new ProtoWriter().message(1, create.finish()).finish()
}

/** Asks for an answer without events as soon as everything up to the server's present revision was sent. */
export function progressRequest(): Buffer {
  return new ProtoWriter().message(3, Buffer.alloc(0)).finish()
}

export interface EtcdEvent {
  readonly type: 'put' | 'delete'
  /** Of a deletion: its key and revision alone. */
  readonly kv: KeyValue
  /** Undefined for a key that is new, and where its revision was compacted meanwhile. */
  readonly previous: KeyValue | undefined
}

export interface WatchAnswer {
  readonly clusterId: bigint
  /** Of the whole store, when this was sent. */
  readonly revision: bigint
  readonly created: boolean
  readonly canceled: boolean
  /** Above 0: canceled because revisions below this one are gone. */
  readonly compactRevision: bigint
  readonly cancelReason: string
  /** More of the same answer follows. */
  readonly fragment: boolean
  readonly events: readonly EtcdEvent[]
}

export function readWatch(answer: Buffer): WatchAnswer {
  const events: EtcdEvent[] = []
  const read = {
    clusterId: 0n,
    revision: 0n,
    created: false,
    canceled: false,
    compactRevision: 0n,
    cancelReason: '',
    fragment: false,
    events,
  }
  readMessage(answer, {
    numbers: {
      3: (value) => (read.created = value !== 0n),
      4: (value) => (read.canceled = value !== 0n),
      5: (value) => (read.compactRevision = value),
      7: (value) => (read.fragment = value !== 0n),
    },
    bytes: {
      1: (header) => {
        readMessage(header, {
          numbers: { 1: (value) => (read.clusterId = value), 3: (value) => (read.revision = value) },
        })
      },
      6: (value) => (read.cancelReason = value.toString()),
      11: (value) => events.push(readEvent(value)),
    },
  })
  return read
}

function readEvent(event: Buffer): EtcdEvent {
  let type: EtcdEvent['type'] = 'put'
  let kv = NOTHING
  let previous: KeyValue | undefined
  readMessage(event, {
    numbers: { 1: (value) => (type = value === 1n ? 'delete' : 'put') },
    bytes: { 2: (value) => (kv = readKeyValue(value)), 3: (value) => (previous = readKeyValue(value)) },
  })
  return { type, kv, previous }
}

const NOTHING: KeyValue = { key: '', value: Buffer.alloc(0), createRevision: 0n, modRevision: 0n, version: 0n }

function readKeyValue(bytes: Buffer): KeyValue {
  const read = { ...NOTHING }
  readMessage(bytes, {
    numbers: {
      2: (value) => (read.createRevision = value),
      3: (value) => (read.modRevision = value),
      4: (value) => (read.version = value),
    },
    bytes: { 1: (value) => (read.key = value.toString()), 5: (value) => (read.value = value) },
  })
  return read
}

function rangeRequest({ key, end = '', limit = 0, revision = 0n }: RangeOptions): Buffer {
  return new ProtoWriter().bytes(1, key).bytes(2, end).number(3, limit).number(4, revision).finish()
}

function readRange(answer: Buffer): RangeAnswer {
  const kvs: KeyValue[] = []
  const read = { revision: 0n, kvs, more: false }
  readMessage(answer, {
    numbers: { 3: (value) => (read.more = value !== 0n) },
    bytes: { 1: (header) => (read.revision = readRevision(header)), 2: (value) => kvs.push(readKeyValue(value)) },
  })
  return read
}

function readWrite(answer: Buffer): WriteAnswer {
  const read: { revision: bigint; done: boolean; found: KeyValue | undefined } = {
    revision: 0n,
    done: false,
    found: undefined,
  }
  readMessage(answer, {
    numbers: { 2: (value) => (read.done = value !== 0n) },
    bytes: {
      1: (header) => (read.revision = readRevision(header)),
      3: (response) => {
        readMessage(response, { bytes: { 1: (value) => (read.found = readRange(value).kvs[0]) } })
      },
    },
  })
  return read
}

function readRevision(header: Buffer): bigint {
  let revision = 0n
  readMessage(header, { numbers: { 3: (value) => (revision = value) } })
  return revision
}

/** Bulk requests: operations in lines, and what became of each, matched by its place among them. */
import { joinedBytes } from '../../util/bytes.ts'
import type { Change } from '../backend-store.ts'
import type { BackendStoreErrorCode } from '../errors.ts'
import type { EngineClient } from './engine-client.ts'
import { codeOf, reasonText, toStoreError, typeText, EngineError, type ErrorBody } from './engine-errors.ts'

/** Of one request; engines take up to 100 MB. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 60_000

/**
 * What an operation goes by: `version`: only over versions up to this one (digits); `state`: only over this one; `absent`:
 * only where nothing stands; `any`: over whatever stands there.
 */
export type Guard =
  | { readonly type: 'version'; readonly version: string }
  | { readonly type: 'state'; readonly seqNo: number; readonly primaryTerm: number }
  | { readonly type: 'absent' }
  | { readonly type: 'any' }

export interface Operation {
  readonly change: Change
  readonly id: string
  readonly index: string
  readonly guard: Guard
  /** `headLine`, and the document of an upsert in another line. */
  readonly lines: Uint8Array
}

export type Outcome =
  | { readonly type: 'done' | 'absent' | 'conflict' | 'noIndex' }
  | { readonly type: 'deferred' | 'rejected'; readonly reason: string }

interface Item {
  readonly status: number
  readonly error?: ErrorBody
}

/** What a bulk is told of an operation in front of its document. */
export function headLine({ change, id, index, guard }: Omit<Operation, 'lines'>): string {
  const action = change.type === 'delete' ? 'delete' : guard.type === 'absent' ? 'create' : 'index'
  const alias = change.type === 'delete' ? '' : ',"require_alias":true'
  return `{"${action}":{"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id)}${guardText(guard)}${alias}}}\n`
}

/** The same against something else. */
export function guardedBy(operation: Operation, guard: Guard): Operation {
  const document = operation.lines.subarray(operation.lines.indexOf(LINE_FEED) + 1)
  const changed = { ...operation, guard }
  return { ...changed, lines: Buffer.concat([Buffer.from(headLine(changed)), document]) }
}

const LINE_FEED = 0x0a

/** An outcome for each operation. Rejects with `BackendStoreError` where the engine lets us write nothing. */
export async function sendBulk(client: EngineClient, operations: readonly Operation[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const part of partsOf(operations)) outcomes.push(...(await send(client, part)))
  return outcomes
}

function* partsOf(operations: readonly Operation[]): Generator<readonly Operation[]> {
  let part: Operation[] = []
  let bytes = 0
  for (const operation of operations) {
    const size = operation.lines.length
    if (part.length > 0 && bytes + size > MAX_REQUEST_BYTES) {
      yield part
      part = []
      bytes = 0
    }
    part.push(operation)
    bytes += size
  }
  if (part.length > 0) yield part
}

async function send(client: EngineClient, operations: readonly Operation[]): Promise<Outcome[]> {
  const { items } = await client.request<{ items: readonly Readonly<Record<string, Item>>[] }>({
    method: 'POST',
    path: '/_bulk',
    query: { filter_path: 'items.*.status,items.*.error' },
    lines: joinedBytes(operations.map((operation) => operation.lines)),
    timeoutMs: REQUEST_TIMEOUT_MS,
  })
  if (items.length !== operations.length) throw new EngineError(0, '', 'a bulk answer does not tell of every operation')
  return items.map((item) => outcomeOf(Object.values(item)[0] as Item))
}

function guardText(guard: Guard): string {
  switch (guard.type) {
    case 'version':
      return `,"version":${guard.version},"version_type":"external_gte"`
    case 'state':
      return `,"if_seq_no":${guard.seqNo},"if_primary_term":${guard.primaryTerm}`
    case 'absent':
    case 'any':
      return ''
  }
}

/** Such an answer to one operation is the answer to all. */
const OF_ALL: ReadonlySet<BackendStoreErrorCode> = new Set(['unauthorized', 'forbidden', 'readOnly', 'full'])

/** 400, and yet nothing of the document. */
const CLOSED = 'index_closed_exception'

function outcomeOf({ status, error }: Item): Outcome {
  if (status < 300) return { type: 'done' }
  if (error === undefined) return { type: 'absent' } // 404: nothing was there to be deleted
  const type = typeText(error)
  if (status === 409) return { type: 'conflict' }
  if (status === 404) return { type: 'noIndex' }
  const reason = reasonText(error)
  const code = codeOf({ status, type })
  if (OF_ALL.has(code)) throw toStoreError(new EngineError(status, type, reason))
  return { type: status === 429 || status >= 500 || type === CLOSED ? 'deferred' : 'rejected', reason }
}

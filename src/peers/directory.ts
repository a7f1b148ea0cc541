/**
 * Who the replicas are: each has an entry in the annotations of one Lease of the control plane. Whoever may write that Lease
 * says who is trusted: an entry names the certificate that its replica shows.
 */
import { fields, flag, isFields, textOrEmpty, texts, type Fields } from '../fleet/fields.ts'

export interface Replica {
  /** A place to be, that one process at a time can hold. */
  readonly id: string
  /** Anew at each start, and whenever the others may have given it up. */
  readonly incarnation: string
  /** `host:port`; empty where an entry cannot be read. */
  readonly address: string
  /** SHA-256 of its certificate, in hexadecimal. */
  readonly fingerprint: string
}

const PREFIX = 'replicas.fleetsearch.dev/'

export interface Entry {
  readonly replica: Replica
  /** Fingerprints of those that it took to be there when it wrote this. */
  readonly knows: readonly string[]
  /** Of those that have not heard of a write that it has answered, within a minute. It tells them itself. */
  readonly unheard: readonly string[]
  /** The same of processes that had this place before, with how many ms ago at least: nobody can tell them any more. */
  readonly left: ReadonlyMap<string, number>
  /** It has left, and answers nothing any more. */
  readonly over: boolean
  /** Changes with every renewal. */
  readonly text: string
}

/** An entry that cannot be read is a replica that nobody can reach. */
export function entriesOf(lease: Fields): readonly Entry[] {
  const annotations = fields(fields(lease['metadata'])['annotations'])
  return Object.entries(annotations).flatMap(([key, value]) => {
    if (!key.startsWith(PREFIX) || typeof value !== 'string') return []
    return [entryOf(key.slice(PREFIX.length), value)]
  })
}

function entryOf(id: string, text: string): Entry {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  const entry = isFields(value) ? value : {}
  const replica = {
    id,
    incarnation: textOrEmpty(entry, 'incarnation'),
    address: textOrEmpty(entry, 'address'),
    fingerprint: textOrEmpty(entry, 'certificate'),
  }
  return {
    replica,
    knows: texts(entry, 'knows'),
    unheard: texts(entry, 'unheard'),
    left: ages(fields(entry['left'])),
    over: flag(entry, 'over'),
    text,
  }
}

function ages(value: Fields): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(value).map(([fingerprint, age]) => [fingerprint, typeof age === 'number' && age > 0 ? age : 0]),
  )
}

/** The Lease with this entry, without those of `gone`. `beat` makes it differ from the one before. */
export function withEntry(
  lease: Fields,
  { replica, knows, unheard, left, over }: Omit<Entry, 'text'>,
  beat: number,
  gone: readonly string[],
): Fields {
  const { id, incarnation, address, fingerprint } = replica
  const lists = { knows, unheard, left: Object.fromEntries(left), over }
  const value = JSON.stringify({ incarnation, address, certificate: fingerprint, ...lists, beat })
  return withAnnotations(lease, gone, { [PREFIX + id]: value })
}

export function withoutEntry(lease: Fields, id: string): Fields {
  return withAnnotations(lease, [id], {})
}

function withAnnotations(lease: Fields, without: readonly string[], more: Readonly<Record<string, string>>): Fields {
  const metadata = fields(lease['metadata'])
  const kept = Object.entries(fields(metadata['annotations'])).filter(
    ([key]) => !without.some((id) => key === PREFIX + id),
  )
  return { ...lease, metadata: { ...metadata, annotations: { ...Object.fromEntries(kept), ...more } } }
}

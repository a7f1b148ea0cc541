/**
 * The mapping of indices (`index-names.ts`). It is the same for every kind and never grows: whatever keys objects have, they
 * are values of our fields (`../../query/term.ts`).
 */
import { crc32 } from 'node:zlib'
import { columnKinds } from '../../kube/columns/index.ts'
import { FieldCatalog } from '../../query/fields.ts'

/**
 * Raise it whenever the same object makes another document. Part of an index's name, as is a sum of the mapping: where
 * either changes, documents move to new indices one at a time (`indices.ts`), so give a field that changes its type another
 * name.
 */
const DOCUMENT_VERSION = 3

/** The root of our fields, beside those that karmada-search's documents have. */
export const ROOT = 'fleetsearch'

/** Fields with a field of their own for their values and one for their sort key, the same for every kind. */
export const NAMED_FIELDS: ReadonlySet<string> = new Set(
  new FieldCatalog(columnKinds().map(({ columns }) => columns)).names(),
)

export const FIELD = {
  /** By field: mark and value. */
  value: (field: string) => `${ROOT}.value.${field}`,
  /** By field: the sort key. */
  order: (field: string) => `${ROOT}.order.${field}`,
  /** Terms of labels and of whatever else has a path: those that count and those that only find. */
  labels: `${ROOT}.labels`,
  paths: `${ROOT}.paths`,
  terms: `${ROOT}.terms`,
  /** The three tiers of the free text, and the words of all. */
  text: { name: `${ROOT}.text.name`, strong: `${ROOT}.text.strong`, other: `${ROOT}.text.other` },
  words: `${ROOT}.words`,
  /** The name, folded. */
  folded: `${ROOT}.folded`,
  /** What breaks ties. */
  tie: `${ROOT}.tie`,
  /** Cluster and resource. */
  shard: `${ROOT}.shard`,
  /** What rights are given for (`visible.ts`). */
  rights: `${ROOT}.rights`,
  resourceVersion: `${ROOT}.resourceVersion`,
  /** `../digest.ts`. */
  hash: `${ROOT}.hash`,
} as const

/** A page, or the part of a shard that one comparison reads. */
export const MAX_WINDOW = 20_000

/** As long as the longest pattern of a query with all it is wrapped into. */
const MAX_REGEX_CHARS = 20_000

/** How long a late write of an object that is gone is recognised: requests end after seconds. */
const GC_DELETES = '5m'

const found = { type: 'keyword', doc_values: false, norms: false }
const counted = { type: 'keyword', norms: false }
const ordered = { type: 'keyword', index: false, norms: false }
const phrases = { type: 'text', analyzer: 'whitespace', norms: false }
const stored = { enabled: false, type: 'object' }
const textAndKeyword = { type: 'text', norms: false, fields: { keyword: { type: 'keyword', ignore_above: 256 } } }

export function mapping(flatType: object): object {
  const named = (field: object): object => ({
    properties: Object.fromEntries([...NAMED_FIELDS].map((name) => [name, field])),
  })
  return {
    dynamic: false,
    _source: { excludes: [ROOT] },
    properties: {
      apiVersion: textAndKeyword,
      kind: textAndKeyword,
      metadata: {
        properties: {
          name: textAndKeyword,
          namespace: textAndKeyword,
          creationTimestamp: { type: 'date', ignore_malformed: true },
          deletionTimestamp: { type: 'date', ignore_malformed: true },
          labels: flatType,
          annotations: stored,
        },
      },
      spec: { type: 'text', index: false, norms: false },
      status: { type: 'text', index: false, norms: false },
      [ROOT]: {
        properties: {
          value: named(counted),
          order: named(ordered),
          labels: counted,
          paths: counted,
          terms: found,
          text: { properties: { name: phrases, strong: phrases, other: phrases } },
          words: counted,
          folded: found,
          tie: counted,
          shard: counted,
          rights: found,
          resourceVersion: ordered,
          hash: { type: 'long', index: false },
        },
      },
    },
  }
}

/** Whether our own fields are in it, each of the type that it has in ours. */
export function isOfMapping(found: object, flatType: object): boolean {
  const own = (of: object): unknown => (of as { properties?: Readonly<Record<string, unknown>> }).properties?.[ROOT]
  return hasTypes(own(mapping(flatType)), own(found))
}

interface MappedField {
  readonly type?: string
  readonly properties?: Readonly<Record<string, MappedField>>
}

function hasTypes(wanted: unknown, found: unknown): boolean {
  const { type, properties = {} } = wanted as MappedField
  const { type: foundType, properties: foundProperties = {} } = (found ?? {}) as MappedField
  if (type !== undefined && type !== foundType) return false
  return Object.entries(properties).every(([name, field]) => hasTypes(field, foundProperties[name]))
}

export interface IndexSettings {
  /** Primary shards of each index. Default 1: of two million pods it holds about 10 GB. */
  readonly shards?: number
  /** Default: one where there is another node to hold it. */
  readonly replicas?: number
}

export function settings({ shards = 1, replicas }: IndexSettings): object {
  return {
    number_of_shards: shards,
    ...(replicas === undefined ? { auto_expand_replicas: '0-1' } : { number_of_replicas: replicas }),
    'index.gc_deletes': GC_DELETES,
    'index.max_result_window': MAX_WINDOW,
    'index.max_regex_length': MAX_REGEX_CHARS,
    'index.mapping.total_fields.limit': 1_000,
  }
}

/** Of documents and mapping. */
export function currentVersion(flatType: object): string {
  return `${DOCUMENT_VERSION}.${crc32(JSON.stringify(mapping(flatType))).toString(16)}`
}

/** `pattern`: of the names of the indices it is for. */
export function template(pattern: string, flatType: object, options: IndexSettings): object {
  return {
    index_patterns: [pattern],
    priority: 500,
    template: { settings: settings(options), mappings: mapping(flatType) },
  }
}

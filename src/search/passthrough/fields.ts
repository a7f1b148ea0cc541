import { globMatcher } from '../../query/glob.ts'

/**
 * The fields that the passthrough knows: those of karmada-search's documents, which the stores' mapping has
 * (backendstore/search-engine/schema.ts). What is not here can be neither asked for nor counted.
 */
export type FieldType = 'text' | 'keyword' | 'date' | 'labels'

const TEXTS = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace']
const DATES = ['metadata.creationTimestamp', 'metadata.deletionTimestamp']
export const LABELS = 'metadata.labels'

export const FIELDS: ReadonlyMap<string, FieldType> = new Map<string, FieldType>([
  ...TEXTS.flatMap((name): [string, FieldType][] => [
    [name, 'text'],
    [`${name}.keyword`, 'keyword'],
  ]),
  ...DATES.map((name): [string, FieldType] => [name, 'date']),
  [LABELS, 'labels'],
])

/** Beside those, what can be shown of a document and is not searched. */
export const SHOWN_FIELDS: readonly string[] = [...FIELDS.keys(), 'spec', 'status']

/** The fields that a pattern stands for, of these: what is not among them no pattern finds. */
export function matchingFields(pattern: string, among: readonly string[]): readonly string[] {
  if (!pattern.includes('*')) return among.includes(pattern) || fieldType(pattern) !== undefined ? [pattern] : []
  return among.filter(globMatcher(pattern.replaceAll('?', '')))
}

/** Undefined: there is no such field. A label's key may hold whatever keys do, dots among it. */
export function fieldType(name: string): FieldType | undefined {
  const known = FIELDS.get(name)
  if (known !== undefined) return known
  return name.startsWith(`${LABELS}.`) && name.length > LABELS.length + 1 && !name.includes('*') ? 'keyword' : undefined
}

/** The mapping as an engine tells it, of karmada-search's fields alone. */
export function shownMapping(flatType: string): object {
  const textAndKeyword = { type: 'text', fields: { keyword: { type: 'keyword', ignore_above: 256 } } }
  const unsearched = { type: 'text', index: false }
  return {
    properties: {
      apiVersion: textAndKeyword,
      kind: textAndKeyword,
      metadata: {
        properties: {
          name: textAndKeyword,
          namespace: textAndKeyword,
          creationTimestamp: { type: 'date' },
          deletionTimestamp: { type: 'date' },
          labels: { type: flatType },
          annotations: { type: 'object', enabled: false },
        },
      },
      spec: unsearched,
      status: unsearched,
    },
  }
}

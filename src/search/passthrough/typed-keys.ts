/** `typed_keys`: aggregations of an answer under the names that say of which type they are (`sterms#kinds`). */
import { fieldType } from './fields.ts'

type Named = Readonly<Record<string, unknown>>

/** `asked` as it was sent to the engine, `answered` as it came. */
export function withTypedKeys(asked: Readonly<Record<string, object>>, answered: Named): Named {
  return Object.fromEntries(
    Object.entries(answered).map(([name, value]) => {
      const { aggs = {}, ...types } = (asked[name] ?? {}) as { aggs?: Readonly<Record<string, object>> } & Named
      const [type = ''] = Object.keys(types)
      return [`${prefixOf(type, types[type])}#${name}`, withinBuckets(aggs, value)]
    }),
  )
}

/** The values of a text are `sterms`, times are numbers. */
function prefixOf(type: string, content: unknown): string {
  if (type !== 'terms') return type
  return fieldType(String((content as { field?: unknown }).field)) === 'date' ? 'lterms' : 'sterms'
}

/** Buckets in a list or by name, or the one bucket that it is. */
function withinBuckets(aggs: Readonly<Record<string, object>>, value: unknown): unknown {
  if (Object.keys(aggs).length === 0 || typeof value !== 'object' || value === null) return value
  const { buckets } = value as { buckets?: unknown }
  if (Array.isArray(buckets)) return { ...value, buckets: buckets.map((bucket: object) => renamed(aggs, bucket)) }
  if (typeof buckets !== 'object' || buckets === null) return renamed(aggs, value)
  const byName = Object.entries(buckets).map(([name, bucket]) => [name, renamed(aggs, bucket as object)] as const)
  return { ...value, buckets: Object.fromEntries(byName) }
}

function renamed(aggs: Readonly<Record<string, object>>, bucket: object): object {
  const entries = Object.entries(bucket)
  const inner = entries.filter(([name]) => Object.hasOwn(aggs, name))
  const own = entries.filter(([name]) => !Object.hasOwn(aggs, name))
  return { ...Object.fromEntries(own), ...withTypedKeys(aggs, Object.fromEntries(inner)) }
}

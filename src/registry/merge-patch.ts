/**
 * Merge patches (RFC 7386), with the directives of a strategic merge patch where the client sent one: `$patch: replace`
 * and `$patch: delete` inside objects. All lists of a ResourceRegistry are atomic, so that nothing else differs; the other
 * directives (`$setElementOrder/…`, `$retainKeys`, `$deleteFromPrimitiveList/…`) have nothing to act on and are dropped.
 * Source: apimachinery pkg/util/strategicpatch.
 */
type Json = Record<string, unknown>

/** Returns a new value; neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown, strategic: boolean): unknown {
  if (!isObject(patch)) return patch
  if (strategic && patch['$patch'] === 'delete') return undefined
  const replaces = strategic && patch['$patch'] === 'replace'
  const merged = new Map(isObject(target) && !replaces ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (strategic && key.startsWith('$')) continue
    const next = value === null ? undefined : mergePatch(merged.get(key), value, strategic)
    if (next === undefined) merged.delete(key)
    else merged.set(key, next)
  }
  return Object.fromEntries(merged) // defines `__proto__` as a key like any other
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Secrets inside of other objects (manifests of a Karmada Work, templates of a policy): their values are secret there too. */

const MENTION = '"Secret"'

/** Whether the JSON text can have one at all. */
export function mayEmbedSecrets(text: string): boolean {
  return text.includes(MENTION)
}

/**
 * Empties the values of every Secret in a parsed value, in place; the keys stay. The value itself may be one, too. However
 * deep: no object may hide one, or keep itself out of a store, by nesting further than there is stack for.
 */
export function emptySecrets(value: unknown): void {
  const ahead = [value]
  while (ahead.length > 0) {
    const next = ahead.pop()
    if (typeof next !== 'object' || next === null) continue
    if (!Array.isArray(next)) emptyIfSecret(next as Record<string, unknown>)
    for (const child of Object.values(next)) if (typeof child === 'object') ahead.push(child)
  }
}

function emptyIfSecret(object: Record<string, unknown>): void {
  if (object['kind'] !== 'Secret' || object['apiVersion'] !== 'v1') return
  for (const member of ['data', 'stringData']) if (member in object) object[member] = emptied(object[member])
  emptyAnnotations(object['metadata'])
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

function emptyAnnotations(metadata: unknown): void {
  if (typeof metadata !== 'object' || metadata === null) return
  const { annotations } = metadata as { annotations?: unknown }
  if (typeof annotations !== 'object' || annotations === null) return
  if (LAST_APPLIED in annotations) (annotations as Record<string, unknown>)[LAST_APPLIED] = ''
}

function emptied(values: unknown): unknown {
  if (typeof values !== 'object' || values === null) return {}
  return Object.fromEntries(Object.keys(values).map((key) => [key, {}]))
}

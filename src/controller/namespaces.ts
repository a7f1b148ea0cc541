/** Scopes of shards: sets of namespaces; undefined stands for all. */
type Namespaces = ReadonlySet<string> | undefined

export function sameNamespaces(a: Namespaces, b: Namespaces): boolean {
  return !isWider(a, b) && !isWider(b, a)
}

/** `a` holds a namespace that `b` does not. */
export function isWider(a: Namespaces, b: Namespaces): boolean {
  if (b === undefined) return false
  return a === undefined || [...a].some((namespace) => !b.has(namespace))
}

/** Reads values of parsed YAML whose shape nobody has checked. */
export type Fields = Readonly<Record<string, unknown>>

/** The object itself; an empty one for anything else. */
export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** A text; numbers and booleans too, since YAML reads an unquoted `12345` as one. Undefined for the rest. */
export function text(parent: Fields, key: string): string | undefined {
  const value = parent[key]
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

export function texts(parent: Fields, key: string): readonly string[] {
  const value = parent[key]
  return Array.isArray(value) ? value.map(String) : []
}

export function textLists(parent: Fields, key: string): Readonly<Record<string, readonly string[]>> {
  const map = fields(parent[key])
  return Object.fromEntries(Object.keys(map).map((name) => [name, texts(map, name)]))
}

export function flag(parent: Fields, key: string): boolean {
  return parent[key] === true
}

/** Entries of a list of `{name, <key>: {…}}`, as kubeconfigs write maps. */
export function named(parent: Fields, list: string, key: string): readonly (readonly [string, Fields])[] {
  const value = parent[list]
  if (!Array.isArray(value)) return []
  return value.map(fields).flatMap((entry) => {
    const name = text(entry, 'name')
    return name === undefined || name === '' ? [] : [[name, fields(entry[key])] as const]
  })
}

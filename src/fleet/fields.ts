/** Reads values of parsed JSON or YAML whose shape nobody has checked. */
export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object itself; an empty one for anything else. */
export function fields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** The objects of a list; whatever else stands in it is left out. */
export function fieldsList(parent: Fields, key: string): readonly Fields[] {
  const value = parent[key]
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** A text; numbers and booleans too, since YAML reads an unquoted `12345` as one. Undefined for the rest. */
export function text(parent: Fields, key: string): string | undefined {
  return scalar(parent[key])
}

export function textOrEmpty(parent: Fields, key: string): string {
  return text(parent, key) ?? ''
}

/** The texts of a list; whatever else stands in it is left out. */
export function texts(parent: Fields, key: string): readonly string[] {
  const value = parent[key]
  return Array.isArray(value) ? value.map(scalar).filter((item) => item !== undefined) : []
}

function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
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
  return fieldsList(parent, list).flatMap((entry) => {
    const name = text(entry, 'name')
    return name === undefined || name === '' ? [] : [[name, fields(entry[key])] as const]
  })
}

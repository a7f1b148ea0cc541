/** Which names are fields, what they stand for and how their values compare. */
import type { ColumnType, KindColumns } from '../kube/columns/column.ts'

/** A field of a query, found. */
export interface Field {
  /** As in a document's terms. */
  readonly path: string
  /** How its values compare; several where kinds differ. `json`: a JSON path, each value compares as what it looks like. */
  readonly types: ReadonlySet<ColumnType | 'json'>
  /** Objects below it count as its existence. */
  readonly nested: boolean
  /** JSON paths where custom resources have what they show under that name: they are asked as well. */
  readonly also?: readonly Field[]
}

/** Fields of an object's identity. A kind's column of such a name is left out (NAME, AGE). */
const IDENTITY_FIELDS: Readonly<Record<string, ColumnType>> = {
  cluster: 'keyword',
  kind: 'keyword',
  group: 'keyword',
  apiversion: 'keyword',
  resource: 'keyword',
  namespace: 'keyword',
  name: 'keyword',
  uid: 'keyword',
  created: 'time',
}

/** Fields that any kind may have, by what it contains; a kind's column of such a name adds to them (a pod's IP, NODE). */
const COMMON_FIELDS: Readonly<Record<string, ColumnType>> = {
  version: 'keyword',
  owner: 'keyword',
  node: 'keyword',
  image: 'keyword',
  ip: 'ip',
}

const ALIASES: Readonly<Record<string, string>> = {
  ns: 'namespace',
  age: 'created',
  '.metadata.name': 'name',
  '.metadata.namespace': 'namespace',
  '.metadata.uid': 'uid',
  '.metadata.creationTimestamp': 'created',
  '.metadata.ownerReferences.name': 'owner',
  '.kind': 'kind',
  '.apiVersion': 'apiversion',
}

const PREFIXES: readonly (readonly [string, string])[] = [
  ['label.', 'label.'],
  ['labels.', 'label.'],
  ['.metadata.labels.', 'label.'],
  ['annotation.', 'annotation.'],
  ['annotations.', 'annotation.'],
  ['.metadata.annotations.', 'annotation.'],
]

/** A path may leave out its first dot where it begins like this; any other needs it (`.rules.verbs`). */
const JSON_ROOTS = /^(?:metadata|spec|status|data)\./

const KEYWORD: ReadonlySet<ColumnType> = new Set(['keyword'])
const JSON_TYPES: ReadonlySet<'json'> = new Set(['json'])

/** The fields of all kinds there are. Names are case-insensitive but for the KEY of labels and annotations and paths. */
export class FieldCatalog {
  readonly #columns = new Map<string, Set<ColumnType>>()
  /** By the name of a custom resource's printer column. */
  readonly #paths = new Map<string, Set<string>>()

  constructor(kinds: Iterable<KindColumns>) {
    for (const [field, type] of Object.entries({ ...IDENTITY_FIELDS, ...COMMON_FIELDS })) {
      this.#columns.set(field, new Set([type]))
    }
    for (const kind of kinds) this.add(kind)
  }

  add(kind: KindColumns): void {
    for (const { field, type } of [...kind.columns, ...(kind.extra ?? [])]) {
      if (isIdentityField(field)) continue
      const types = this.#columns.get(field)
      if (types === undefined) this.#columns.set(field, new Set([type]))
      else types.add(type)
    }
  }

  /**
   * The printer columns of a custom resource, as other names for the JSON paths that they show. Columns that select among
   * the items of a list have no such path and are no fields.
   */
  addCustom(kind: KindColumns): void {
    for (const { field, jsonPath } of kind.columns) {
      const path = jsonPath === undefined || isIdentityField(field) ? undefined : plainPath(jsonPath)
      if (path !== undefined) this.#paths.set(field, (this.#paths.get(field) ?? new Set()).add(path))
    }
  }

  /** Undefined for what is no field. */
  find(name: string): Field | undefined {
    const typed = jsonPathOf(name) ?? name
    const path = alias(typed) ?? alias(typed.toLowerCase()) ?? typed
    for (const [prefix, canonical] of PREFIXES) {
      if (path.length > prefix.length && path.toLowerCase().startsWith(prefix.toLowerCase())) {
        return { path: canonical + path.slice(prefix.length), types: KEYWORD, nested: false }
      }
    }
    if (path.startsWith('.')) return pathField(path)
    return this.#named(path.toLowerCase())
  }

  /** Whether any kind may have it. */
  isCommon(name: string): boolean {
    return Object.hasOwn(IDENTITY_FIELDS, name) || Object.hasOwn(COMMON_FIELDS, name)
  }

  /** Names of all fields but labels, annotations and paths, sorted. */
  names(): readonly string[] {
    return [...new Set([...this.#columns.keys(), ...this.#paths.keys()])].sort()
  }

  #named(name: string): Field | undefined {
    const paths = [...(this.#paths.get(name) ?? [])].map(pathField)
    const types = this.#columns.get(name)
    if (types === undefined) {
      const [first, ...others] = paths
      return first === undefined || others.length === 0 ? first : { ...first, also: others }
    }
    const field = { path: name, types, nested: false }
    return paths.length === 0 ? field : { ...field, also: paths }
  }
}

/** Other names of a field, sorted. */
export function aliasesOf(field: string): string[] {
  return Object.keys(ALIASES)
    .filter((name) => ALIASES[name] === field && !name.startsWith('.'))
    .sort()
}

/** Fields that have no fixed name. */
export const FIELD_PATTERNS = [
  { pattern: 'label.KEY', types: ['keyword'], operators: [':', '=', '!=', '~'], examples: ['label.app=web'] },
  {
    pattern: 'annotation.KEY',
    types: ['keyword'],
    operators: [':', '=', '!=', '~'],
    examples: ['annotation.team:shop'],
  },
  {
    pattern: 'spec.PATH, status.PATH, metadata.PATH, data.PATH, .ANY.PATH',
    types: ['json'],
    operators: [':', '=', '!=', '<', '<=', '>', '>=', '~'],
    examples: ['spec.replicas>3', 'spec.template.spec.containers.image:nginx', '.rules.verbs=delete'],
  },
] as const

export function isIdentityField(field: string): boolean {
  return Object.hasOwn(IDENTITY_FIELDS, field) || Object.hasOwn(ALIASES, field)
}

function pathField(path: string): Field {
  return { path: path.toLowerCase(), types: JSON_TYPES, nested: true }
}

/** `.spec.a.b` and `{.spec.a[*].b}`; undefined for filters, indices and quoted keys. */
function plainPath(jsonPath: string): string | undefined {
  const path = jsonPath.replace(/^\{(.*)\}$/, '$1').replaceAll('[*]', '')
  return /^(?:\.[A-Za-z0-9_-]+)+$/.test(path) && !/^\.metadata(\.|$)/.test(path) ? path : undefined
}

/** `.a.b` for `.a.b`, `$.a.b` and, below the usual roots, `a.b`. */
function jsonPathOf(name: string): string | undefined {
  const path = name.startsWith('$.') ? name.slice(1) : JSON_ROOTS.test(name) ? `.${name}` : name
  return /^\.[^.]/.test(path) && !path.endsWith('.') ? path : undefined
}

function alias(name: string): string | undefined {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined
}

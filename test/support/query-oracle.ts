/**
 * What a search should answer, found the slow and obvious way: every object is looked at as parsed JSON for every
 * condition. Stores are compared with it (test/backendstore). Shares the parser, the field catalogue and the kinds'
 * columns with the product, and none of its tokens, terms and keys.
 */
import type { ColumnType, JsonObject } from '../../src/kube/columns/column.ts'
import { columnsOf } from '../../src/kube/columns/index.ts'
import type { Operator, QueryNode, QueryValue } from '../../src/query/ast.ts'
import type { DocumentIdentity } from '../../src/query/document.ts'
import type { Field, FieldCatalog } from '../../src/query/fields.ts'
import type { Dimension, FacetRequest, Likeness, SortTerm } from '../../src/query/search-request.ts'

export interface OracleObject {
  readonly identity: DocumentIdentity
  readonly object: JsonObject
}

export interface OracleQuery {
  readonly ast: QueryNode
  readonly sort: readonly SortTerm[]
  readonly facets: readonly FacetRequest[]
}

export interface OracleAnswer {
  /** In order. */
  readonly found: readonly { readonly identity: DocumentIdentity; readonly rank: number }[]
  readonly facets: readonly {
    readonly distinct: number
    readonly values: readonly { readonly value: string; readonly count: number }[]
  }[]
}

type Scalar = string | number | boolean

export class QueryOracle {
  readonly #fields: FieldCatalog
  readonly #nowMs: number

  constructor(fields: FieldCatalog, nowMs: number) {
    this.#fields = fields
    this.#nowMs = nowMs
  }

  answer(objects: readonly OracleObject[], { ast, sort, facets }: OracleQuery): OracleAnswer {
    const found = objects
      .filter((object) => this.#matches(ast, object) ?? true)
      .map((object) => ({ object, rank: sort.length > 0 ? 0 : this.#rank(ast, object) }))
      .sort((a, b) => compareBySort(a.object, b.object, sort) || b.rank - a.rank || compareTies(a.object, b.object))
    return {
      found: found.map(({ object, rank }) => ({ identity: object.identity, rank })),
      facets: facets.map((facet) =>
        countFacet(
          found.map(({ object }) => object),
          facet,
        ),
      ),
    }
  }

  /** `count`: the readable keys of each row, joined, with how many documents stand there. */
  count(objects: readonly OracleObject[], ast: QueryNode, dimensions: readonly Dimension[]): Map<string, number> {
    const rows = new Map<string, number>()
    for (const object of objects.filter((each) => this.#matches(ast, each) ?? true)) {
      const keys = dimensions.map((dimension) => keysOf(object, dimension))
      for (const row of combinations(keys)) rows.set(row.join(' | '), (rows.get(row.join(' | ')) ?? 0) + 1)
    }
    return rows
  }

  /** `vocabulary` without its limit. */
  vocabulary(
    objects: readonly OracleObject[],
    ast: QueryNode,
    path: string | undefined,
    like: Likeness,
  ): { readonly value: string; readonly count: number }[] {
    const counts = new Map<string, number>()
    for (const object of objects.filter((each) => this.#matches(ast, each) ?? true)) {
      const values =
        path === undefined ? Object.values(textsOf(object)).flat().flatMap(naiveWords) : textsAt(object, path)
      for (const value of new Set(values)) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return [...counts]
      .map(([value, count]) => ({ value, count, away: unlikeness(like, value.toLowerCase()) }))
      .filter(({ away }) => away < 3)
      .sort((a, b) => a.away - b.away || b.count - a.count || bytes(a.value, b.value))
      .map(({ value, count }) => ({ value, count }))
  }

  /** Undefined: it says nothing (punctuation). */
  #matches(node: QueryNode, object: OracleObject): boolean | undefined {
    switch (node.type) {
      case 'and':
      case 'or': {
        const answers = node.children
          .map((child) => this.#matches(child, object))
          .filter((answer) => answer !== undefined)
        if (answers.length === 0) return undefined
        return node.type === 'and' ? answers.every(Boolean) : answers.some(Boolean)
      }
      case 'not': {
        const answer = this.#matches(node.child, object)
        return answer === undefined ? undefined : !answer
      }
      case 'text':
        return textMatches(node.value, Object.values(textsOf(object)).flat())
      case 'field': {
        const field = this.#fields.find(node.field)
        if (field === undefined) throw new Error(`no field ${node.field}`)
        if (node.operator === '!=') return !node.values.some((value) => this.#compares(field, '=', value, object))
        return node.values.some((value) => this.#compares(field, node.operator, value, object))
      }
    }
  }

  #compares(field: Field, operator: Operator, value: QueryValue, object: OracleObject): boolean {
    const values = valuesOf(object, field.path)
    if (operator === ':') {
      if (!value.quoted && value.text === '*') return values.length > 0 || hasBelow(object, field.path)
      if (field.types.has('ip') && /^[0-9.]+\/[0-9]+$/.test(value.text)) {
        return values.some((each) => isInNetwork(String(each.value), value.text))
      }
      return values.some((each) => hasPiece(typedText(each), value, field.path))
    }
    if (operator === '~') return textsAt(object, field.path).some((text) => expressionOf(value.text).test(text))
    if (field.types.has('ip') && operator === '=' && value.text.includes('/')) {
      return values.some((each) => isInNetwork(String(each.value), value.text))
    }
    return values.some((each) => [...field.types].some((type) => this.#holds(type, each, operator, value.text)))
  }

  #holds(type: ColumnType | 'json', { value, type: own }: TypedValue, operator: Operator, text: string): boolean {
    const scalar = String(value)
    const numeric = numberOf(scalar)
    const time = typeof value === 'string' ? timeOf(scalar) : undefined
    switch (type) {
      case 'keyword':
      case 'text':
        return operator === '=' && own !== 'int' && time === undefined && scalar === text
      case 'bool':
        return operator === '=' && scalar === text.toLowerCase()
      case 'int':
      case 'quantity':
      case 'duration':
        return numeric !== undefined && order(operator, compareNumbers(numeric, numberOf(text)))
      case 'version':
        return own === 'version' && order(operator, compareVersions(scalar, text))
      case 'ip':
        return order(operator, compareIps(scalar, text))
      case 'time':
        return order(operator, this.#compareTimes(scalar, text))
      case 'json':
        if (time !== undefined) return order(operator, this.#compareTimes(scalar, text))
        if (operator === '=' && typeof value !== 'number' && scalar === text) return true
        return (
          typeof value !== 'boolean' &&
          numeric !== undefined &&
          order(operator, compareNumbers(numeric, numberOf(text)))
        )
    }
  }

  /** An age counts back from now: younger is later. */
  #compareTimes(value: string, text: string): number | undefined {
    const time = timeOf(value)
    const asked = timeOf(text) ?? timeOf(`${text}T00:00:00Z`)
    if (time === undefined) return undefined
    if (asked !== undefined) return time < asked ? -1 : time > asked ? 1 : 0
    const age = ageMs(text)
    if (age === undefined) return undefined
    const then = BigInt(this.#nowMs - age) * 1_000_000n
    return time < then ? 1 : time > then ? -1 : 0
  }

  /** Free text counts where an even number of NOTs stands above it. */
  #rank(node: QueryNode, object: OracleObject, positive = true): number {
    switch (node.type) {
      case 'and':
      case 'or':
        return node.children.reduce((sum, child) => sum + this.#rank(child, object, positive), 0)
      case 'not':
        return this.#rank(node.child, object, !positive)
      case 'text':
        return positive ? textRank(node.value, object) : 0
      case 'field':
        return 0
    }
  }
}

interface TypedValue {
  readonly value: Scalar
  readonly type: ColumnType | 'json'
}

function typedText({ value, type }: TypedValue): TypedValue & { readonly text: string } {
  return { value, type, text: String(value) }
}

/** Every value of a path, each once. */
function valuesOf(object: OracleObject, path: string): readonly TypedValue[] {
  const seen = new Map<string, TypedValue>()
  for (const value of allValues(object, path)) seen.set(`${typeof value.value} ${String(value.value)}`, value)
  return [...seen.values()]
}

function allValues({ object, identity }: OracleObject, path: string): TypedValue[] {
  const columns = columnsOf(identity)
  const keyword = (...values: unknown[]): TypedValue[] =>
    values.filter((value) => typeof value === 'string').map((value) => ({ value, type: 'keyword' }))
  const metadata = (object['metadata'] ?? {}) as JsonObject
  if (path.startsWith('.')) return leaves(object, path.slice(1)).map((value) => ({ value, type: 'json' }))
  if (path.startsWith('label.')) return keyword(own(metadata['labels'], path.slice(6)))
  if (path.startsWith('annotation.')) return keyword(own(metadata['annotations'], path.slice(11)))
  const { group, version, namespace, uid } = identity
  switch (path) {
    case 'cluster':
    case 'kind':
    case 'group':
    case 'resource':
    case 'name':
      return keyword(identity[path])
    case 'uid':
      return keyword(uid)
    case 'namespace':
      return namespace === '' ? [] : keyword(namespace)
    case 'apiversion':
      return keyword(group === '' ? version : `${group}/${version}`)
    case 'created': {
      const created = metadata['creationTimestamp']
      return typeof created === 'string' ? [{ value: created, type: 'time' }] : []
    }
    case 'owner':
      return keyword(...((metadata['ownerReferences'] ?? []) as JsonObject[]).map((owner) => owner['name']))
  }
  const column = [...(columns?.columns ?? []), ...(columns?.extra ?? [])].find(({ field }) => field === path)
  const value = column?.value(object)
  const shown: TypedValue[] = column === undefined || value === undefined ? [] : [{ value, type: column.type }]
  if (path === 'version') return shown.length > 0 ? shown : keyword(version)
  if (path === 'image') return [...shown, ...keyword(...strings(object, /(^|\.)(init|ephemeral)?containers\.image$/i))]
  if (path === 'node') return [...shown, ...keyword(...strings(object, /(^|\.)nodeName$/))]
  if (path === 'ip') return [...shown, ...ips(object).map((ip): TypedValue => ({ value: ip, type: 'ip' }))]
  return shown
}

const IP_KEYS = /(^|\.)(ip|podIP|hostIP|clusterIP|clusterIPs|externalIPs|loadBalancerIP|addresses|address)$/

function ips(object: JsonObject): string[] {
  return strings(object, IP_KEYS).filter((text) => compareIps(text, text) === 0)
}

/** Text leaves whose path of keys matches. */
function strings(value: unknown, pattern: RegExp, path = ''): string[] {
  if (typeof value === 'string') return pattern.test(path) && value !== '' ? [value] : []
  if (Array.isArray(value)) return value.flatMap((item) => strings(item, pattern, path))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => strings(child, pattern, path === '' ? key : `${path}.${key}`))
}

function own(map: unknown, key: string): unknown {
  return typeof map === 'object' && map !== null && Object.hasOwn(map, key) ? (map as JsonObject)[key] : undefined
}

function leaves(value: unknown, path: string): Scalar[] {
  if (Array.isArray(value)) return value.flatMap((item) => leaves(item, path))
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, child]) => {
      const lower = key.toLowerCase()
      if (path === lower) return leaves(child, '')
      return path.startsWith(`${lower}.`) ? leaves(child, path.slice(lower.length + 1)) : []
    })
  }
  if (path !== '') return []
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [value] : []
}

/** A JSON path also exists by what is below it, empty objects and lists included; null is unset. */
function hasBelow({ object }: OracleObject, path: string): boolean {
  return path.startsWith('.') && below(object, path.slice(1))
}

function below(value: unknown, path: string): boolean {
  if (Array.isArray(value))
    return path === ''
      ? value.length === 0 || value.some((item) => below(item, ''))
      : value.some((item) => below(item, path))
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    if (path === '') return entries.length === 0 || entries.some(([, child]) => below(child, ''))
    return entries.some(([key, child]) => {
      const lower = key.toLowerCase()
      return path === lower
        ? below(child, '')
        : path.startsWith(`${lower}.`) && below(child, path.slice(lower.length + 1))
    })
  }
  return path === '' && value !== null && value !== undefined
}

/** The pieces of a value: itself, between `/` and spaces, between other signs too, between all separators. */
function hasPiece({ value, type, text }: TypedValue & { text: string }, asked: QueryValue, path: string): boolean {
  const isNumber = typeof value === 'number' || type === 'int' || type === 'quantity'
  const word = asked.text.toLowerCase()
  if (isNumber || (type === 'json' && numberOf(text) !== undefined)) {
    if (/^-?[0-9]+(\.[0-9]+)?$/.test(word) && compareNumbers(numberOf(text), numberOf(word)) === 0) return true
    if (typeof value === 'number') return false
  }
  if (type === 'time' || (isTimed(type, path) && timeOf(text) !== undefined)) return false
  if (typeof value === 'boolean' || type === 'ip' || type === 'quantity') {
    return matchesWord(text.toLowerCase(), asked) || (type === 'ip' && globPieces(text, asked))
  }
  return naivePieces(text).some((piece) => matchesWord(piece, asked))
}

/** The text of an address has pieces only for patterns, which are held against every piece of exact texts. */
function globPieces(text: string, asked: QueryValue): boolean {
  return !asked.quoted && /[*?]/.test(asked.text) && naivePieces(text).some((piece) => matchesWord(piece, asked))
}

function matchesWord(piece: string, { text, quoted }: QueryValue): boolean {
  const word = text.toLowerCase()
  if (quoted || !/[*?]/.test(word)) return piece === word
  return globOf(word).test(piece)
}

function globOf(pattern: string): RegExp {
  const source = [...pattern].map((c) => (c === '*' ? '[^]*' : c === '?' ? '[^]' : c.replace(/[^a-z0-9]/, '\\$&')))
  return new RegExp(`^${source.join('')}$`)
}

function naivePieces(text: string): string[] {
  const whole = text.toLowerCase()
  const segments = whole.split(/[/ ]/)
  const parts = segments.flatMap((segment) => segment.split(/[^a-z0-9._-]/))
  return [whole, ...[...segments, ...parts, ...naiveWords(whole)].filter((piece) => piece !== '')]
}

function naiveWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter((word) => word !== '')
}

/** The texts in the three tiers, a value each. */
function textsOf({ object, identity }: OracleObject): { name: string[]; strong: string[]; other: string[] } {
  const metadata = (object['metadata'] ?? {}) as JsonObject
  const pairs = (map: unknown): string[] =>
    Object.entries((map ?? {}) as JsonObject).map(([key, value]) => `${key}=${String(value)}`)
  const { namespace, name, kind, cluster } = identity
  const dataKeys = kind === 'ConfigMap' || kind === 'Secret' ? Object.keys((object['data'] ?? {}) as JsonObject) : []
  const values = (path: string): string[] => valuesOf({ object, identity }, path).map(({ value }) => String(value))
  return {
    name: [name],
    strong: [...pairs(metadata['labels']), ...strings(object, /(^|\.)(init|ephemeral)?containers\.image$/i)],
    other: [
      ...(namespace === '' ? [] : [`${namespace}/${name}`]),
      kind,
      cluster,
      ...pairs(metadata['annotations']),
      ...values('owner'),
      ...strings(object, /(^|\.)nodeName$/),
      ...ips(object),
      ...dataKeys,
      ...strings(object, /(^|\.)(message|reason|note|host|hostname|hosts|secretName)$/),
      ...strings(object, /(\.env\.name|\.conditions\.type|ontainers\.name)$/),
    ],
  }
}

/** Undefined for text without a letter or digit. */
function textMatches({ text, quoted }: QueryValue, values: readonly string[]): boolean | undefined {
  if (!quoted && text === '*') return true
  const words = naiveWords(text)
  if (!quoted && /^[A-Za-z0-9*?]+$/.test(text) && /[*?]/.test(text)) {
    return values.some((value) => naiveWords(value).some((word) => globOf(text.toLowerCase()).test(word)))
  }
  if (words.length === 0) return undefined
  const prefix = !quoted && /[A-Za-z0-9]\*+$/.test(text) && !/[*?]/.test(text.replace(/\*+$/, ''))
  const phrase = ` ${words.join(' ')}${prefix ? '' : ' '}`
  return values.some((value) => ` ${naiveWords(value).join(' ')} `.includes(phrase))
}

function textRank(value: QueryValue, object: OracleObject): number {
  if (!value.quoted && value.text === '*') return 0
  const { name, strong, other } = textsOf(object)
  const exact = value.quoted || !/[*?]/.test(value.text) || isLiteral(value.text)
  const whole = exact && value.text.toLowerCase() === object.identity.name.toLowerCase()
  const worth = (values: readonly string[], points: number): number =>
    textMatches(value, values) === true ? points : 0
  return (whole ? 1024 : 0) + worth(name, 512) + worth(strong, 64) + worth(other, 1)
}

/** Wildcards that are punctuation: neither within a single word nor at the end of the last. */
function isLiteral(text: string): boolean {
  return !/^[A-Za-z0-9*?]+$/.test(text) && /[*?]/.test(text.replace(/\*+$/, ''))
}

function order(operator: Operator, compared: number | undefined): boolean {
  if (compared === undefined) return false
  if (operator === '=') return compared === 0
  if (operator === '<') return compared < 0
  if (operator === '<=') return compared <= 0
  return operator === '>' ? compared > 0 : compared >= 0
}

/** What of a path is text: neither a number nor a time. */
function textsAt(object: OracleObject, path: string): string[] {
  const { kind, group } = object.identity
  if (kind === 'Secret' && group === '' && /^\.(data|stringdata)\./.test(path)) return [] // only their keys are told
  return valuesOf(object, path)
    .filter(
      ({ value, type }) => typeof value !== 'number' && !(isTimed(type, path) && timeOf(String(value)) !== undefined),
    )
    .map(({ value }) => String(value).replaceAll('\n', ' '))
}

/** Annotations and JSON paths are read for times, labels and other fields are what their type says. */
function isTimed(type: ColumnType | 'json', path: string): boolean {
  return type === 'time' || type === 'json' || path.startsWith('annotation.')
}

function keysOf(object: OracleObject, dimension: Dimension): (string | null)[] {
  const { type, path } = dimension
  const found = new Set<string>()
  for (const { value, type: own } of valuesOf(object, path)) {
    const text = String(value)
    const time = isTimed(own, path) ? timeOf(text) : undefined
    const number = typeof value === 'boolean' || time !== undefined ? undefined : numberOf(text)
    const counts = typeof value === 'number' || own === 'quantity' || own === 'json' || path.startsWith('annotation.')
    if (type === 'number' && number !== undefined && counts) found.add(`number ${number}`)
    if (type === 'time' && time !== undefined) found.add(`time ${timeText(time).slice(0, timeChars(dimension.unit))}`)
    if (type !== 'value') continue
    if (time !== undefined) found.add(`time ${timeText(time)}`)
    else if (typeof value === 'number') found.add(`number ${number}`)
    else found.add(`text ${text.replaceAll('\n', ' ')}`)
  }
  return found.size === 0 ? [null] : [...found]
}

function timeChars(unit: string | undefined): number {
  return { year: 4, month: 7, day: 10, hour: 13, minute: 16 }[unit ?? ''] ?? 100
}

function combinations(keys: readonly (readonly (string | null)[])[]): (string | null)[][] {
  return keys.reduce<(string | null)[][]>(
    (rows, own) => rows.flatMap((row) => own.map((key) => [...row, key ?? 'none'])),
    [[]],
  )
}

/** Infinite for what is not like it at all. */
function unlikeness(like: Likeness, value: string): number {
  const text = like.text.toLowerCase()
  if (like.type === 'prefix')
    return ` ${value}`.split(/(?<=[^a-z0-9])/).some((_, i, parts) => parts.slice(i).join('').startsWith(text))
      ? 0
      : Infinity
  const away = edits(text, value)
  return text.charAt(0) === value.charAt(0) && away <= like.edits ? away : Infinity
}

function edits(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  if (a.at(-1) === b.at(-1)) return edits(a.slice(0, -1), b.slice(0, -1))
  if (Math.abs(a.length - b.length) > 2) return Infinity
  const swapped =
    a.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1) ? edits(a.slice(0, -2), b.slice(0, -2)) : Infinity
  return (
    1 + Math.min(edits(a.slice(0, -1), b), edits(a, b.slice(0, -1)), edits(a.slice(0, -1), b.slice(0, -1)), swapped)
  )
}

/** The product's expressions are part of JavaScript's but for `(?i)`. */
function expressionOf(pattern: string): RegExp {
  return pattern.startsWith('(?i)') ? new RegExp(pattern.slice(4), 'iu') : new RegExp(pattern, 'u')
}

function isInNetwork(ip: string, network: string): boolean {
  const [address = '', length = ''] = network.split('/')
  const bits = (text: string): string =>
    text
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  return compareIps(ip, ip) === 0 && bits(ip).slice(0, Number(length)) === bits(address).slice(0, Number(length))
}

/** A number as a whole number of 10^-30. */
export function numberOf(text: string): bigint | undefined {
  const match = /^([+-]?)([0-9]+)(?:\.([0-9]*))?([eE][+-]?[0-9]+|[numkMGTPE]i?)?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  const powers: Record<string, number> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
  const binary: Record<string, bigint> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n }
  if (suffix.endsWith('i') && binary[suffix] === undefined) return undefined
  const power = /^[eE]./.test(suffix) ? Number(suffix.slice(1)) : (powers[suffix] ?? 0)
  const scaled = BigInt(whole + fraction) * 10n ** BigInt(30 + power - fraction.length) * 2n ** (binary[suffix] ?? 0n)
  return sign === '-' ? -scaled : scaled
}

function compareNumbers(a: bigint | undefined, b: bigint | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined
  return a < b ? -1 : a > b ? 1 : 0
}

/** Nanoseconds since the epoch. */
function timeOf(text: string): bigint | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return undefined
  const [, seconds = '', fraction = '.', zone = ''] = match
  // What there is reads back as it was written.
  const utc = new Date(`${seconds}Z`)
  if (Number.isNaN(utc.getTime()) || !utc.toISOString().startsWith(seconds)) return undefined
  return BigInt(Date.parse(seconds + zone)) * 1_000_000n + BigInt(fraction.slice(1).padEnd(9, '0'))
}

function ageMs(text: string): number | undefined {
  const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, y: 31_536_000 }
  if (!/^([0-9]+[smhdwy])+$/.test(text)) return undefined
  return (text.match(/[0-9]+[a-z]/g) ?? []).reduce(
    (sum, part) => sum + Number.parseInt(part) * (units[part.at(-1) ?? ''] ?? 0) * 1_000,
    0,
  )
}

function compareVersions(a: string, b: string): number | undefined {
  const parse = (text: string) => /^v?([0-9]+(?:\.[0-9]+)*)(-[^+]*)?(\+.*)?$/.exec(text)
  const x = parse(a)
  const y = parse(b)
  if (x === null || y === null) return undefined
  const left = (x[1] ?? '').split('.').map(Number)
  const right = (y[1] ?? '').split('.').map(Number)
  for (let i = 0; i < 4; i++) if ((left[i] ?? 0) !== (right[i] ?? 0)) return (left[i] ?? 0) - (right[i] ?? 0)
  if ((x[2] === undefined) !== (y[2] === undefined)) return x[2] === undefined ? 1 : -1
  return bytes((x[2] ?? '') + (x[3] ?? ''), (y[2] ?? '') + (y[3] ?? ''))
}

/** IPv4 only: all that the generated objects have. */
function compareIps(a: string, b: string): number | undefined {
  const parse = (text: string): number[] | undefined => {
    const parts = /^\d{1,3}(\.\d{1,3}){3}$/.test(text) ? text.split('.').map(Number) : undefined
    return parts?.every((part) => part < 256) === true ? parts : undefined
  }
  const x = parse(a)
  const y = parse(b)
  if (x === undefined || y === undefined) return undefined
  for (let i = 0; i < 4; i++) if (x[i] !== y[i]) return (x[i] ?? 0) - (y[i] ?? 0)
  return 0
}

function compareBySort(a: OracleObject, b: OracleObject, sort: readonly SortTerm[]): number {
  const isCut = sort.some(({ path }) => /^(\.|label\.|annotation\.)/.test(path))
  for (const { path, descending } of sort) {
    const [x] = allValues(a, path)
    const [y] = allValues(b, path)
    if (x === undefined || y === undefined) {
      if (x === y) continue
      return x === undefined ? 1 : -1
    }
    const compared = compareValues(x, y, isCut)
    if (compared !== 0) return descending ? -compared : compared
  }
  return 0
}

/** Values that are not of their column's type sort as text; sorts of values apart: by the sign their keys begin with. */
function compareValues(a: TypedValue, b: TypedValue, isCut: boolean): number {
  const x = String(a.value)
  const y = String(b.value)
  const sortOf = ({ type, value }: TypedValue): string => {
    if (type === 'int' || type === 'quantity' || type === 'duration')
      return numberOf(String(value)) === undefined ? '' : '#'
    if (type === 'time') return timeOf(String(value)) === undefined ? '' : '@'
    if (type === 'version') return compareVersions(String(value), 'v1') === undefined ? '' : '^'
    if (type === 'json' && typeof value !== 'boolean') {
      return numberOf(String(value)) !== undefined ? '#' : timeOf(String(value)) !== undefined ? '@' : ''
    }
    return type === 'ip' && compareIps(String(value), String(value)) !== undefined ? '%' : ''
  }
  const [s, t] = [sortOf(a), sortOf(b)]
  if (s !== t) return bytes(s === '' ? x.toLowerCase() : s, t === '' ? y.toLowerCase() : t)
  if (s === '#') return compareNumbers(numberOf(x), numberOf(y)) ?? 0
  if (s === '@') return Number((timeOf(x) ?? 0n) - (timeOf(y) ?? 0n))
  if (s === '^') return compareVersions(x, y) ?? 0
  if (s === '%') return compareIps(x, y) ?? 0
  if (isCut) return bytes(beginning(x), beginning(y))
  return bytes(x.toLowerCase(), y.toLowerCase()) || bytes(x, y)
}

/** What counts of a text in an order that no store has keys of: 512 bytes of it without case, and then with. */
function beginning(text: string): string {
  const whole = Buffer.from(`${text.toLowerCase()}\u0001${text}`)
  return new TextDecoder().decode(whole.subarray(0, 512), { stream: true })
}

function compareTies(a: OracleObject, b: OracleObject): number {
  const key = ({ identity: { cluster, namespace, name, uid, group, resource } }: OracleObject): string[] => [
    cluster,
    namespace,
    name,
    uid,
    `${group}/${resource}`,
  ]
  const x = key(a)
  const y = key(b)
  for (let i = 0; i < x.length; i++) {
    const compared = bytes(x[i] ?? '', y[i] ?? '')
    if (compared !== 0) return compared
  }
  return 0
}

function bytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function countFacet(objects: readonly OracleObject[], { path, limit }: FacetRequest): OracleAnswer['facets'][number] {
  const counts = new Map<string, number>()
  for (const object of objects) {
    const shown = new Set(valuesOf(object, path).map(facetText))
    for (const value of shown) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const values = [...counts].map(([value, count]) => ({ value, count }))
  values.sort((a, b) => b.count - a.count || bytes(a.value, b.value))
  return { distinct: values.length, values: values.slice(0, limit) }
}

/** Times are counted in UTC without zeros at the end of their fraction. */
function facetText({ value, type }: TypedValue): string {
  const text = String(value)
  const time = type === 'time' || type === 'json' ? timeOf(text) : undefined
  return time === undefined ? text : timeText(time)
}

function timeText(time: bigint): string {
  const fraction = (time % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  const seconds = new Date(Number(time / 1_000_000n)).toISOString().slice(0, 19)
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`
}

/**
 * Compares what we answer with what the members' own answers to the same caller add up to (docs/rights.md),
 * question by question.
 */
import assert from 'node:assert/strict'
import { seededRandom } from './fake-clock.ts'
import { applyPolicies, CALLERS, Dice, randomPolicies } from './random-policy.ts'
import type { TestResponse } from './real-parts/http.ts'
import type { RealCluster } from './real-parts/index.ts'
import { compareNative } from './native-comparison.ts'
import { kindNamed, RelationComparison, type Subject } from './relation-comparison.ts'
import {
  BASE,
  KINDS,
  MEMBERS,
  NAMES,
  NAMESPACES,
  RULE_NAMES,
  type Caller,
  type Kind,
  type RightsWorld,
} from './rights-world.ts'
import { compareSearch, SEARCH_QUESTIONS, type AskOurs, type SearchQuestion } from './search-comparison.ts'

const CLUSTER = 'cluster.karmada.io/name'
const PROXY = `${BASE}/proxying/karmada/proxy`
const PARALLEL = 8

interface Item {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

export interface Tally {
  /** By what was compared. */
  readonly comparisons: Record<string, number>
  total: number
  /** Answers that were all, part or nothing: a fuzz that only ever meets one of them proves little. */
  readonly outcomes: Record<string, number>
}

/** Runs rounds of random policies; rejects at the first answer that differs. */
export async function compareAnswers(
  world: RightsWorld,
  { rounds, perRound, seed }: { readonly rounds: number; readonly perRound: number; readonly seed: number },
): Promise<Tally> {
  const dice = new Dice(seededRandom(seed))
  const tally: Tally = { comparisons: {}, total: 0, outcomes: {} }
  for (let round = 0; round < rounds; round++) {
    await applyPolicies(world, randomPolicies(dice, world.members.length), seed * 1_000 + round)
    const comparison = new Comparison(world, tally)
    const questions = Array.from({ length: perRound }, () => randomQuestion(dice))
    await inParallel(questions, (question) => comparison.run(question))
  }
  return tally
}

type What =
  | 'list'
  | 'strong list'
  | 'get'
  | 'strong get'
  | 'watch'
  | 'member'
  | 'search list'
  | 'search get'
  | 'query'
  | 'lookup'
  | 'related'
  | 'native'
  | SearchQuestion

interface Question {
  readonly what: What
  readonly caller: Caller
  readonly kind: Kind
  /** Empty: all, or none. */
  readonly namespace: string
  readonly name: string
  readonly member: number
}

const WHATS: readonly What[] = [
  ...(['list', 'list', 'strong list', 'get', 'get', 'strong get', 'watch', 'watch', 'member', 'member'] as const),
  ...(['search list', 'search list', 'search get', 'query', 'lookup', 'related', 'native'] as const),
  ...SEARCH_QUESTIONS,
]

function randomQuestion(dice: Dice): Question {
  const kind = dice.one(KINDS)
  const what = dice.one(WHATS)
  const isGet = what.endsWith('get') || what === 'related' || what === 'lookup'
  const namespace = kind.namespaced && (isGet || dice.chance(0.5)) ? dice.one([...NAMESPACES, 'gone']) : ''
  const names = kind.resource === 'namespaces' ? NAMESPACES : [...NAMES, 'only-east', 'only-west', 'gone']
  const name = isGet || dice.chance(0.25) ? dice.one(names) : ''
  return { what, caller: dice.one(CALLERS), kind, namespace, name, member: dice.below(2) }
}

function collection({ root, resource }: Kind, namespace: string): string {
  return namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`
}

class Comparison {
  readonly #world: RightsWorld
  readonly #tally: Tally
  /** The members' answers of this round; the same ones are needed again and again. */
  readonly #asked = new Map<string, Promise<TestResponse>>()

  readonly #ours: AskOurs
  readonly #relations: RelationComparison

  constructor(world: RightsWorld, tally: Tally) {
    this.#world = world
    this.#tally = tally
    this.#ours = (caller, path, accept) => world.ours(caller, path, undefined, accept)
    this.#relations = new RelationComparison(world, this.#ours, (caller, subject) => this.#sees(caller, subject))
  }

  async run(question: Question): Promise<void> {
    const outcome = await this.#compare(question).catch((error: unknown) => {
      throw new Error(`${JSON.stringify(question)}: ${(error as Error).message}`, { cause: error })
    })
    this.#tally.total += 1
    this.#tally.comparisons[question.what] = (this.#tally.comparisons[question.what] ?? 0) + 1
    this.#tally.outcomes[outcome] = (this.#tally.outcomes[outcome] ?? 0) + 1
  }

  #compare(question: Question): Promise<string> {
    switch (question.what) {
      case 'list':
        return this.#list(question, '')
      case 'strong list':
        return this.#list(question, 'consistency=strong&')
      case 'get':
        return this.#get(question, '')
      case 'strong get':
        return this.#get(question, '?consistency=strong')
      case 'watch':
        return this.#watch(question)
      case 'member':
        return this.#member(question)
      case 'search list':
        return this.#searchList(question)
      case 'search get':
        return this.#searchGet(question)
      case 'query':
        return this.#query(question)
      case 'lookup':
        return this.#relations.lookup(question.caller, question.namespace || NAMESPACES[0])
      case 'related':
        return this.#related(question)
      case 'native':
        return this.#native(question)
      case 'aggregate':
      case 'suggest':
      case 'export':
      case 'query watch':
        return this.#search({ ...question, what: question.what })
    }
  }

  async #list({ caller, kind, namespace, name }: Question, query: string): Promise<string> {
    const selector = name === '' ? '' : `fieldSelector=metadata.name%3D${name}`
    const path = `${collection(kind, namespace)}?${query}${selector}`
    const ours = await this.#world.ours(caller, PROXY + path)
    const theirs = await this.#members(caller, `${collection(kind, namespace)}?${selector}`)
    const allowed = theirs.filter(({ answer }) => answer.status === 200)
    if (allowed.length === 0) return refused(ours, theirs[0]?.answer as TestResponse)
    assert.equal(ours.status, 200, ours.text)
    assert.deepEqual(keysOf(ours), allowed.flatMap(({ member, answer }) => keysOf(answer, member.name)).sort())
    assertMissing(
      ours,
      theirs.filter(({ answer }) => answer.status === 403).map(({ member }) => member.name),
    )
    return allowed.length === theirs.length ? 'all' : 'part'
  }

  async #get({ caller, kind, namespace, name }: Question, query: string): Promise<string> {
    const path = `${collection(kind, namespace)}/${name}`
    const ours = await this.#world.ours(caller, PROXY + path + query)
    const theirs = await this.#members(caller, path)
    const found = theirs.filter(({ answer }) => answer.status === 200)
    const [first] = found
    if (first !== undefined) {
      assert.equal(ours.status, found.length === 1 ? 200 : 409, ours.text)
      if (found.length === 1)
        assert.equal(keyOf(ours.json() as Item), keyOf(first.answer.json() as Item, first.member.name))
      return found.length === 1 ? 'part' : 'all'
    }
    const denied = theirs.find(({ answer }) => answer.status === 403)
    if (denied !== undefined) return refused(ours, denied.answer)
    assert.equal(ours.status, 404, ours.text)
    return 'all'
  }

  async #watch({ caller, kind, namespace, name }: Question): Promise<string> {
    const selector = name === '' ? '' : `fieldSelector=metadata.name%3D${name}&`
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const path = `${collection(kind, namespace)}?${selector}${query}`
    const ours = await firstEvents(this.#world.service.url, PROXY + path, ourHeaders(caller))
    const theirs = await Promise.all(
      this.#world.members.map(async (member) => ({
        member,
        answer: await this.#memberWatch(member, caller, path),
      })),
    )
    const allowed = theirs.filter(({ answer }) => answer.status === 200)
    assert.equal(ours.status, allowed.length === 0 ? 403 : 200)
    assert.deepEqual(
      ours.keys,
      allowed.flatMap(({ member, answer }) => answer.keys.map((key) => member.name + key)).sort(),
    )
    return allowed.length === 0 ? 'none' : allowed.length === theirs.length ? 'all' : 'part'
  }

  /** A chosen member answers for itself. */
  async #member({ caller, kind, namespace, name, member: index }: Question): Promise<string> {
    const member = this.#world.members[index] as RealCluster
    const path = name === '' ? collection(kind, namespace) : `${collection(kind, namespace)}/${name}`
    if (name !== '' && kind.namespaced && namespace === '') return 'none'
    const ours = await this.#world.ours(caller, `${BASE}/proxying/cluster.${member.name}/proxy${path}`)
    const theirs = await this.#ask(member, caller, path)
    if (theirs.status === 403) return refused(ours, theirs)
    assert.equal(ours.status, theirs.status, ours.text)
    if (theirs.status === 200 && name === '') assert.deepEqual(keysOf(ours), keysOf(theirs, member.name))
    return 'all'
  }

  async #searchList({ caller, kind, namespace, name }: Question): Promise<string> {
    const selector = name === '' ? '' : `?fieldSelector=metadata.name%3D${name}`
    const ours = await this.#world.ours(caller, `${BASE}/search/cache${collection(kind, namespace)}${selector}`)
    const parts = await this.#visible(caller, kind, namespace)
    const shown = parts.filter(({ any }) => any)
    if (shown.length === 0) {
      assert.equal(ours.status, 403, ours.text)
      return 'none'
    }
    assert.equal(ours.status, 200, ours.text)
    const expected = shown.flatMap(({ keys }) => keys).filter((key) => name === '' || key.endsWith(`/${name}`))
    assert.deepEqual(keysOf(ours), expected.sort())
    assertMissing(
      ours,
      parts.filter(({ any }) => !any).map(({ member }) => member.name),
    )
    return shown.length === parts.length && shown.every(({ whole }) => whole) ? 'all' : 'part'
  }

  async #searchGet({ caller, kind, namespace, name }: Question): Promise<string> {
    const path = `${collection(kind, namespace)}/${name}`
    const ours = await this.#world.ours(caller, `${BASE}/search/cache${path}`)
    const theirs = await this.#members(caller, path)
    const open = theirs.filter(({ answer }) => answer.status !== 403)
    if (open.length === 0) return refused(ours, theirs[0]?.answer as TestResponse)
    assert.equal(ours.status, 200, ours.text)
    const found = open.filter(({ answer }) => answer.status === 200)
    assert.deepEqual(keysOf(ours), found.map(({ member, answer }) => keyOf(answer.json() as Item, member.name)).sort())
    return open.length === theirs.length ? 'all' : 'part'
  }

  /** Hits, totals and facets of one kind. */
  async #query({ caller, kind, name }: Question): Promise<string> {
    const q = `kind:${kind.kind} group:"${kind.group}"${name === '' ? '' : ` name=${name}`}`.replace(' group:""', '')
    const ours = await this.#world.ours(
      caller,
      `${BASE}/search/query?q=${encodeURIComponent(q)}&limit=1000&facets=cluster,namespace,name&facetLimit=1000`,
    )
    assert.equal(ours.status, 200, ours.text)
    const parts = await this.#visible(caller, kind, '')
    const expected = parts
      .flatMap(({ keys }) => keys)
      .filter((key) => name === '' || key.endsWith(`/${name}`))
      .sort()
    const { items, total, facets } = ours.json() as {
      items: { object: Item }[]
      total: number
      facets: Record<string, { values: { value: string; count: number }[] }>
    }
    assert.deepEqual(items.map(({ object }) => keyOf(object)).sort(), expected)
    assert.equal(total, expected.length)
    for (const [facet, at] of [
      ['cluster', 0],
      ['namespace', 1],
      ['name', 2],
    ] as const) {
      const counted = countBy(expected.map((key) => key.split('/')[at] ?? '').filter((value) => value !== ''))
      assert.deepEqual(
        Object.fromEntries((facets[facet]?.values ?? []).map(({ value, count }) => [value, count])),
        counted,
      )
    }
    return expected.length === 0 ? 'none' : parts.every(({ whole }) => whole) ? 'all' : 'part'
  }

  async #search(question: Question & { readonly what: SearchQuestion }): Promise<string> {
    const parts = await this.#visible(question.caller, question.kind, '')
    const expected = parts.flatMap(({ keys }) => keys).sort()
    await compareSearch(this.#ours, question, expected)
    return expected.length === 0 ? 'none' : parts.every(({ whole }) => whole) ? 'all' : 'part'
  }

  #related({ caller, kind, namespace, name, member }: Question): Promise<string> {
    const cluster = MEMBERS[member] ?? MEMBERS[0]
    return this.#relations.related(caller, { cluster, kind: kind.kind, namespace, name })
  }

  async #native({ caller, kind }: Question): Promise<string> {
    const { engine } = this.#world
    if (engine === undefined) return 'none'
    const parts = await this.#visible(caller, kind, '')
    const expected = parts.flatMap(({ keys }) => keys).sort()
    await compareNative(this.#ours, engine, { caller, kind }, expected)
    return expected.length === 0 ? 'none' : parts.every(({ whole }) => whole) ? 'all' : 'part'
  }

  /** Whether a list of the caller's shows it, or would if it were there. */
  async #sees(caller: Caller, { cluster, kind: kindName, namespace, name }: Subject): Promise<boolean> {
    const kind = kindNamed(kindName)
    const member = this.#world.members.find((each) => each.name === cluster)
    if (kind === undefined || member === undefined) return false
    for (const at of kind.namespaced ? ['', namespace] : ['']) {
      for (const selector of ['', `?fieldSelector=metadata.name%3D${name}`]) {
        const { status } = await this.#ask(member, caller, collection(kind, at) + selector)
        if (status === 200) return true
      }
    }
    return false
  }

  /** What the caller could list in each member: at once, namespace by namespace, name by name. */
  #visible(
    caller: Caller,
    kind: Kind,
    namespace: string,
  ): Promise<{ member: RealCluster; keys: string[]; any: boolean; whole: boolean }[]> {
    return Promise.all(
      this.#world.members.map(async (member) => {
        const namespaces = kind.namespaced ? (namespace === '' ? ['', ...NAMESPACES] : [namespace]) : ['']
        const names = RULE_NAMES
        const paths = namespaces.flatMap((ns) => [
          collection(kind, ns),
          ...names.map((name) => `${collection(kind, ns)}?fieldSelector=metadata.name%3D${name}`),
        ])
        const whole = await this.#ask(member, caller, paths[0] as string)
        if (whole.status === 200) return { member, keys: keysOf(whole, member.name), any: true, whole: true }
        const answers = await Promise.all(paths.map((path) => this.#ask(member, caller, path)))
        const open = answers.filter(({ status }) => status === 200)
        const keys = [...new Set(open.flatMap((answer) => keysOf(answer, member.name)))]
        return { member, keys, any: open.length > 0, whole: false }
      }),
    )
  }

  #members(caller: Caller, path: string): Promise<{ member: RealCluster; answer: TestResponse }[]> {
    return Promise.all(
      this.#world.members.map(async (member) => ({ member, answer: await this.#ask(member, caller, path) })),
    )
  }

  #ask(member: RealCluster, caller: Caller, path: string): Promise<TestResponse> {
    const key = [member.name, caller.name, path].join(' ')
    let answer = this.#asked.get(key)
    if (answer === undefined) this.#asked.set(key, (answer = this.#world.theirs(member, caller, path)))
    return answer
  }

  /** What an administrator's watch shows, if the caller's own is accepted. */
  async #memberWatch(member: RealCluster, caller: Caller, path: string): Promise<{ status: number; keys: string[] }> {
    const answer = await this.#ask(member, caller, `${path}&timeoutSeconds=1`)
    if (answer.status !== 200) return { status: answer.status, keys: [] }
    const events = answer.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { type: string; object: Item })
    return { status: 200, keys: events.filter(({ type }) => type === 'ADDED').map(({ object }) => keyOf(object, '')) }
  }
}

/** Ours is a 403 in the member's own words. */
function refused(ours: TestResponse, theirs: TestResponse): string {
  assert.equal(theirs.status, 403, theirs.text)
  assert.equal(ours.status, 403, ours.text)
  const { message, reason } = ours.json() as { message: string; reason: string }
  const member = theirs.json() as { message: string; reason: string }
  // A member adds which roles that bindings name do not exist.
  assert.equal(message, member.message.replace(/: RBAC: .*$/s, ''))
  assert.equal(reason, member.reason)
  return 'none'
}

function assertMissing({ headers }: TestResponse, clusters: readonly string[]): void {
  const freshness = String(headers['fleetsearch-freshness'] ?? '')
  const missing = freshness
    .split(',')
    .filter((part) => part.split(';')[1] === 'missing')
    .map((part) => part.split(';')[0])
  assert.deepEqual(missing.sort(), [...clusters].sort())
  if (clusters.length > 0) assert.match(String(headers['warning']), /missing from this answer/)
}

function keysOf({ json }: TestResponse, cluster?: string): string[] {
  return (json() as { items: Item[] }).items.map((item) => keyOf(item, cluster)).sort()
}

function keyOf({ metadata: { name, namespace = '', annotations } }: Item, cluster?: string): string {
  return `${cluster ?? annotations?.[CLUSTER] ?? '?'}/${namespace}/${name}`
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

function ourHeaders({ name, groups }: Caller): Record<string, string> {
  return { 'x-test-user': encodeURIComponent(name), 'x-test-groups': encodeURIComponent(JSON.stringify(groups)) }
}

/** The present objects of a watch, up to the bookmark behind them. */
async function firstEvents(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; keys: string[] }> {
  const stop = new AbortController()
  const response = await fetch(url + path, { headers, signal: stop.signal })
  const keys: string[] = []
  if (response.status !== 200 || response.body === null) {
    await response.text()
    return { status: response.status, keys }
  }
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: Item }
        if (type === 'BOOKMARK') return { status: 200, keys: keys.sort() }
        keys.push(keyOf(object))
      }
    }
  } finally {
    stop.abort()
  }
  throw new Error('the watch ended before its first bookmark')
}

export async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const item of left) await run(item)
    }),
  )
}

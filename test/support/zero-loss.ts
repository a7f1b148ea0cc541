/**
 * Nothing is lost: a real `fleetsearch up` over members that change all the time, before a store that misbehaves, killed with
 * SIGKILL now and then. When everybody is quiet, the store has the members' objects exactly, by identity and version.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from './fake-clock.ts'
import { startFakeMember, type FakeMember } from './fake-member.ts'
import { startLocal, type LocalProcess } from './local-process.ts'

/** The store as the test reaches it, past the process that is tested. */
export interface StoreUnderTest {
  readonly flags: readonly string[]
  /** Each misbehaves until the next begins. */
  readonly faults: readonly { readonly name: string; begin(): void | Promise<void> }[]
  /** It behaves from now on. */
  behave(): void | Promise<void>
  /** `cluster/namespace/name uid@version` of every ConfigMap in it. */
  documents(): Promise<readonly string[]>
}

export interface ZeroLossOptions {
  /** How long there are changes. */
  readonly seconds: number
  /** Opened when the folder for its data is there. */
  readonly open: (dataFolder: string) => Promise<StoreUnderTest>
  /** How it went, for people. */
  readonly tell?: (text: string) => void
  readonly seed?: number
}

const MEMBERS = ['one', 'two', 'three'] as const
const CHANGES_A_SECOND = 500
const TICK_MS = 20
/** Of each member; half of them exist at a time. */
const NAMES = 1_500
/** A loaded machine needs a multiple of what it takes. */
const QUIET_MS = 120_000

export async function zeroLoss(options: ZeroLossOptions): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-zero-loss-'))
  const members = await Promise.all(MEMBERS.map((name) => startFakeMember({ name, historyLimit: 20_000 })))
  const churn = new Churn(members, options.seed ?? 1)
  let up: LocalProcess | undefined
  try {
    const store = await options.open(path.join(folder, 'data'))
    const kubeconfig = path.join(folder, 'kubeconfig')
    await writeFile(kubeconfig, kubeconfigOf(members))
    const start = (): Promise<LocalProcess> =>
      startLocal('up', {
        flags: [`--kubeconfig=${kubeconfig}`, `--data-dir=${path.join(folder, 'data')}`, ...store.flags],
        until: 'listening',
      })
    churn.fill()
    up = await start()
    await converged(store, members, 'the first lists')
    churn.start()
    up = await misfortunes(options, store, members, up, start)
    // Killed while the store misbehaves; meanwhile objects go that nobody will ever tell of.
    await kill(up)
    churn.stop()
    churn.deleteSome(200)
    await store.behave()
    up = await start()
    await converged(store, members, `equality after ${churn.changes} changes`)
    const expected = options.seconds * CHANGES_A_SECOND
    options.tell?.(`${churn.changes} changes in ${options.seconds} s; ${truth(members).length} objects at the end`)
    assert.ok(churn.changes > expected / 4, `${churn.changes} changes only`)
  } finally {
    churn.stop()
    await up?.stop()
    await Promise.all(members.map((member) => member.close()))
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Faults of the store in turn, members that flap, and two kills. */
async function misfortunes(
  { seconds, tell }: ZeroLossOptions,
  store: StoreUnderTest,
  members: readonly FakeMember[],
  first: LocalProcess,
  start: () => Promise<LocalProcess>,
): Promise<LocalProcess> {
  let up = first
  const end = performance.now() + seconds * 1_000
  const turnMs = Math.max(2_000, (seconds * 1_000) / (store.faults.length * 2 + 1))
  for (let turn = 0; performance.now() < end; turn++) {
    const fault = store.faults[Math.floor(turn / 2) % store.faults.length]
    if (turn % 2 === 0) await fault?.begin()
    else await store.behave()
    tell?.(turn % 2 === 0 ? `the store: ${fault?.name ?? ''}` : 'the store behaves')
    await delay(turnMs / 2)
    const member = members[turn % members.length]
    if (turn % 4 === 1) await flap(member)
    else if (turn % 4 === 2) up = await killAndStart(up, start)
    else if (turn % 4 === 3) member?.expireWatches()
    await delay(Math.min(turnMs / 2, Math.max(0, end - performance.now())))
  }
  return up
}

async function flap(member: FakeMember | undefined): Promise<void> {
  await member?.stop()
  await delay(500)
  member?.compact()
  await member?.start()
}

async function killAndStart(up: LocalProcess, start: () => Promise<LocalProcess>): Promise<LocalProcess> {
  await kill(up)
  return start()
}

async function kill(up: LocalProcess): Promise<void> {
  await up.process.kill()
  await up.stop()
}

/** Creates, changes and deletes ConfigMaps at random. */
class Churn {
  readonly #members: readonly FakeMember[]
  readonly #random: () => number
  #timer: NodeJS.Timeout | undefined
  changes = 0

  constructor(members: readonly FakeMember[], seed: number) {
    this.#members = members
    this.#random = seededRandom(seed)
  }

  fill(): void {
    for (const member of this.#members) for (let i = 0; i < NAMES / 2; i++) this.#put(member, i)
  }

  start(): void {
    this.#timer = setInterval(() => {
      for (let i = 0; i < (CHANGES_A_SECOND * TICK_MS) / 1_000; i++) this.#change()
    }, TICK_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  deleteSome(count: number): void {
    for (const member of this.#members) {
      for (const { metadata } of configMaps(member).slice(0, count)) {
        member.delete('ConfigMap', metadata.namespace ?? '', metadata.name)
      }
    }
  }

  #change(): void {
    const member = this.#members[Math.floor(this.#random() * this.#members.length)]
    if (member === undefined) return
    const i = Math.floor(this.#random() * NAMES)
    const { namespace, name } = nameOf(i)
    const exists = member.store.get(member.type('ConfigMap'), namespace, name) !== undefined
    if (exists && this.#random() < 0.5) member.delete('ConfigMap', namespace, name)
    else this.#put(member, i)
    this.changes++
  }

  #put(member: FakeMember, i: number): void {
    const data = { value: String(this.#random()) }
    member.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: nameOf(i), data })
  }
}

function nameOf(i: number): { namespace: string; name: string } {
  return { namespace: `ns-${i % 7}`, name: `config-${i}` }
}

function configMaps(member: FakeMember) {
  return member.store.list(member.type('ConfigMap'))
}

function truth(members: readonly FakeMember[]): string[] {
  return members.flatMap((member, i) =>
    configMaps(member).map(
      ({ metadata }) =>
        `${MEMBERS[i] ?? ''}/${metadata.namespace ?? ''}/${metadata.name} ${metadata.uid}@${metadata.resourceVersion}`,
    ),
  )
}

async function converged(store: StoreUnderTest, members: readonly FakeMember[], what: string): Promise<void> {
  const deadline = performance.now() + QUIET_MS
  for (;;) {
    const wanted = truth(members)
    const found = await store.documents().catch((error: unknown) => [String(error)])
    const missing = without(wanted, found)
    if (missing.length === 0 && found.length === wanted.length) return
    if (performance.now() > deadline) {
      const extra = without(found, wanted)
      const some = (names: readonly string[]): string => names.slice(0, 5).join(', ')
      assert.fail(
        `${what}: ${wanted.length} objects, ${found.length} documents; ` +
          `${missing.length} missing (${some(missing)}), ${extra.length} too many (${some(extra)})`,
      )
    }
    await delay(300)
  }
}

function without(names: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others)
  return names.filter((name) => !known.has(name))
}

function kubeconfigOf(members: readonly FakeMember[]): string {
  const named = MEMBERS.map((name, i) => ({ name, server: members[i]?.url }))
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: named.map(({ name, server }) => ({ name, cluster: { server } })),
    users: [{ name: 'nobody', user: {} }],
    contexts: named.map(({ name }) => ({ name, context: { cluster: name, user: 'nobody' } })),
  })
}

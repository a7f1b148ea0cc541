/**
 * Requests without a pause to replicas behind an aggregating API server, each answer held against what the members hold. A
 * request may fail only where the test cut its connection: where it was under way when a replica was killed.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { BASE, CACHE, PROXY } from './karmada-fleet.ts'
import type { RealCluster, TestResponse } from './real-parts/index.ts'
import type { Replica } from './serve-replicas.ts'

export interface LoadReport {
  readonly answered: number
  /** Failed under way when a replica was killed. */
  readonly cut: number
  /** What may not happen, in words; at most 20. */
  readonly faults: readonly string[]
  /** 503s of replicas that were asked directly before they were ready, or while they stopped. */
  readonly notReady: number
}

export interface Load {
  /** Requests under way while `disturb` runs, and for a moment after it, may fail. */
  cutting(disturb: () => Promise<unknown>): Promise<void>
  stop(): Promise<LoadReport>
}

interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

const WORKERS = 4
const PAUSE_MS = 10
/** Until an API server and the balancer have noticed that a connection is gone. */
const AFTERMATH_MS = 250

/** `cluster/namespace/name@version`, sorted: what all members hold of pods. */
export async function podsOf(members: readonly RealCluster[]): Promise<string> {
  const lists = await Promise.all(
    members.map(async (member) => {
      const { items } = (await member.ok('/api/v1/pods')) as { items: Named[] }
      return items.map((item) => identity(member.name, item))
    }),
  )
  return lists.flat().sort().join('\n')
}

function identity(cluster: string, { metadata }: Named): string {
  return `${cluster}/${metadata.namespace ?? ''}/${metadata.name}@${metadata.resourceVersion}`
}

/** What a list of ours says, in the same form. */
export function podsIn(answer: TestResponse): string {
  const { items } = answer.json() as { items: Named[] }
  const clusterOf = ({ metadata }: Named): string => metadata.annotations?.['cluster.karmada.io/name'] ?? ''
  return items
    .map((item) => identity(clusterOf(item), item))
    .sort()
    .join('\n')
}

export function startLoad(host: RealCluster, replicas: readonly Replica[], expected: string): Load {
  const stop = new AbortController()
  const cuts: { readonly from: number; to: number }[] = []
  const failures: { readonly from: number; readonly to: number; readonly what: string }[] = []
  const faults: string[] = []
  let answered = 0
  let notReady = 0
  const count = expected === '' ? 0 : expected.split('\n').length
  const isWhole = (text: string): boolean => text === expected
  const questions: readonly { readonly path: string; isRight(answer: TestResponse): boolean }[] = [
    { path: `${CACHE}/api/v1/pods`, isRight: (answer) => isWhole(podsIn(answer)) },
    { path: `${PROXY}/api/v1/pods?resourceVersion=0`, isRight: (answer) => isWhole(podsIn(answer)) },
    {
      path: `${BASE}/search/query?q=kind:Pod&limit=1`,
      isRight: (answer) => (answer.json() as { total: number }).total === count,
    },
    { path: BASE, isRight: (answer) => /resourceregistries/.test(answer.text) },
  ]

  async function ask(from: RealCluster | Replica['client'], turn: number): Promise<TestResponse | undefined> {
    const { path, isRight } = questions[turn % questions.length]!
    const answer = await from.request(path).catch((error: unknown) => String(error))
    if (typeof answer === 'string') throw new Error(`${path}: ${answer}`)
    if (answer.status !== 200) return answer
    answered += 1
    if (!isRight(answer)) faults.push(`${path}: a wrong answer of ${answer.bytes.length} bytes`)
    return undefined
  }

  async function work(turn: number): Promise<void> {
    for (; !stop.signal.aborted; turn++) {
      const from = performance.now()
      try {
        const refused = await ask(host, turn)
        if (refused !== undefined) throw new Error(`${refused.status} ${refused.text.slice(0, 200)}`)
      } catch (error) {
        failures.push({ from, to: performance.now(), what: String(error) })
      }
      await delay(PAUSE_MS)
    }
  }

  /** Straight to a replica, whether it is ready or not: a refusal or the whole, never a part. */
  async function spy({ client }: Replica): Promise<void> {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      const refused = await ask(client, turn % 2).catch(() => undefined)
      if (refused?.status === 503) notReady += 1
      else if (refused !== undefined) faults.push(`straight: ${refused.status} ${refused.text.slice(0, 200)}`)
      await delay(5 * PAUSE_MS)
    }
  }

  const running = [
    ...Array.from({ length: WORKERS }, (_, turn) => work(turn)),
    ...replicas.map((replica) => spy(replica)),
  ]
  return {
    async cutting(disturb) {
      const cut = { from: performance.now(), to: Number.POSITIVE_INFINITY }
      cuts.push(cut)
      await disturb()
      cut.to = performance.now() + AFTERMATH_MS
    },
    async stop() {
      stop.abort()
      await Promise.all(running)
      const isCut = (failure: { from: number; to: number }): boolean =>
        cuts.some(({ from, to }) => failure.to >= from && failure.from <= to)
      const unexplained = failures.filter((failure) => !isCut(failure)).map(({ what }) => what)
      return {
        answered,
        cut: failures.length - unexplained.length,
        faults: [...faults, ...unexplained].slice(0, 20),
        notReady,
      }
    },
  }
}

/**
 * Candidates for one Lease over an API server that misbehaves on demand, in virtual time. Each candidate is a process of its
 * own: it may be stopped (no timer fires, no answer arrives), its clock may run at another rate, its wall clock may jump.
 */
import type { MemberRequest, MemberResponse } from '../../src/fleet/member.ts'
import { LeaderElector } from '../../src/leaderelection/leader-elector.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry, type Registry } from '../../src/telemetry/metrics.ts'
import type { Random } from '../../src/util/clock.ts'
import { seededRandom, type FakeClock } from '../support/fake-clock.ts'
import { FakeProcess } from '../support/fake-process.ts'

/**
 * `lost` the request never arrives · `unanswered` it is carried out and nothing comes back · `broken` it is carried out and
 * the connection breaks · `slow` it is carried out and answered 4 s later · a number: answered with that status and not carried out · `garbage` 200 and no Lease.
 */
export type Fault = 'lost' | 'unanswered' | 'broken' | 'slow' | 'garbage' | number

export interface StoredLease {
  metadata: { resourceVersion: string; [key: string]: unknown }
  spec: Record<string, unknown>
}

export const TIMES = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }
const PATH = '/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases'

export class LeaseServer {
  stored: StoredLease | undefined
  /** `METHOD status` of what was carried out or refused, in order. */
  readonly requests: string[] = []
  #version = 0

  answer({ method, path, body }: MemberRequest): { status: number; body: unknown } {
    const sent = body === undefined ? undefined : (JSON.parse(String(body)) as StoredLease)
    const result = this.#carryOut(method, path, sent)
    this.requests.push(`${method} ${result.status}`)
    return result
  }

  /** Somebody else's write. */
  edit(spec: Record<string, unknown>): void {
    this.#store({ metadata: this.stored?.metadata ?? { resourceVersion: '' }, spec: { ...this.stored?.spec, ...spec } })
  }

  #carryOut(method: string, path: string, sent: StoredLease | undefined): { status: number; body: unknown } {
    if (path !== (method === 'POST' ? PATH : `${PATH}/fleetsearch`)) return refusal(404, `${method} ${path}`)
    if (method === 'GET')
      return this.stored === undefined ? refusal(404, 'no lease') : { status: 200, body: this.stored }
    if (sent === undefined) return refusal(400, 'no body')
    if (method === 'POST') {
      return this.stored === undefined ? { status: 201, body: this.#store(sent) } : refusal(409, 'already exists')
    }
    if (this.stored === undefined) return refusal(404, 'no lease')
    if (sent.metadata.resourceVersion !== this.stored.metadata.resourceVersion) return refusal(409, 'was modified')
    return { status: 200, body: this.#store(sent) }
  }

  /** As a kube-apiserver: a write that changes nothing makes no version. */
  #store({ metadata, spec }: StoredLease): StoredLease {
    if (this.stored !== undefined && JSON.stringify(this.stored.spec) === JSON.stringify(spec)) return this.stored
    this.stored = { metadata: { ...metadata, resourceVersion: String(++this.#version) }, spec: { ...spec } }
    return this.stored
  }
}

function refusal(code: number, message: string): { status: number; body: unknown } {
  return { status: code, body: { kind: 'Status', apiVersion: 'v1', code, message } }
}

export class Candidate extends FakeProcess {
  readonly name: string
  readonly elector: LeaderElector
  readonly metrics: Registry = createMetricsRegistry()
  /** Log messages, warnings and worse. */
  readonly warnings: string[] = []
  /** How each next request fares; beyond the list all is well, or as `always` says. */
  readonly faults: Fault[] = []
  always: Fault | undefined
  /** What a listener was told. */
  readonly told: boolean[] = []
  wallOffsetMs = 0
  wallStandsAtMs: number | undefined
  readonly #server: LeaseServer
  readonly #stop = new AbortController()
  #run: Promise<void> | undefined

  constructor(
    name: string,
    base: FakeClock,
    server: LeaseServer,
    { rate = 1, random = seededRandom(1) as Random } = {},
  ) {
    super(base, rate)
    this.name = name
    this.#server = server
    const client = { request: (request: MemberRequest) => this.#request(request) }
    const lease = { namespace: 'karmada-system', name: 'fleetsearch' }
    const logger = createLogger('warn', {
      write: (line) => void this.warnings.push((JSON.parse(line) as { msg: string }).msg),
    })
    this.elector = new LeaderElector({
      ...TIMES,
      client,
      lease,
      identity: name,
      clock: this,
      random,
      logger,
      metrics: this.metrics,
    })
    this.elector.onChange(() => this.told.push(this.elector.isLeader()))
  }

  get leads(): boolean {
    return this.elector.isLeader()
  }

  start(): this {
    this.#run = this.elector.run(this.#stop.signal)
    return this
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('shutting down'))
    await this.base.advance(3_000)
    await this.#run
  }

  override nowMs(): number {
    return this.wallStandsAtMs ?? super.nowMs() + this.wallOffsetMs
  }

  #request(request: MemberRequest): Promise<MemberResponse> {
    const fault = this.faults.shift() ?? this.always
    return new Promise((resolve, reject) => {
      if (fault === 'lost') return
      if (typeof fault === 'number') return resolve(response(refusal(fault, 'by order')))
      const answer = this.#server.answer(request)
      if (fault === 'unanswered') return
      const answered = (): void => resolve(response(answer))
      if (fault === 'slow') return void this.base.setTimeout(() => this.deliver(answered), 4_000)
      this.deliver(() => {
        if (fault === 'broken') reject(new Error('the connection broke'))
        else resolve(response(fault === 'garbage' ? { status: 200, body: [] } : answer))
      })
    })
  }
}

function response({ status, body }: { status: number; body: unknown }): MemberResponse {
  const bytes = Buffer.from(JSON.stringify(body))
  return { status, headers: {}, body: (async function* () {})(), bytes: () => Promise.resolve(bytes) }
}

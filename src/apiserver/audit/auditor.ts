/**
 * Writes down who did what: one event for each stage of a request that the policy asks for.
 * Source: apiserver pkg/endpoints/filters/{audit,authn_audit,authorization}.go, pkg/audit/request.go.
 */
import { isIP } from 'node:net'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UserInfo } from '../../http/api-request.ts'
import { StatusError, type Status } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import type { Decision } from '../authz/authorizer.ts'
import type { RequestAttributes } from '../request-info.ts'
import { collectRequest, collectResponse, decodeBody, mayRecordBodies, type Collected } from './bodies.ts'
import { eventUser, microTime, objectReference, type AuditEvent, type ResponseStatus } from './event.ts'
import { LEVELS, type AuditPolicy, type AuditRule, type Stage } from './policy.ts'

/** Where events go. `log` tells whether the event was taken over, at once where it can; it never throws or rejects. */
export interface AuditSink {
  log(event: AuditEvent): boolean | Promise<boolean>
}

export interface AuditedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly path: string
  readonly attributes: RequestAttributes
  /** Undefined: nobody. */
  readonly user: UserInfo | undefined
  /** It may last: its start is written down too. */
  readonly lasts: boolean
}

export interface Auditor {
  /** Undefined where the policy wants nothing of it. Rejects with `internal` where it must be written down and cannot be. */
  begin(request: AuditedRequest): Promise<RequestAudit | undefined>
}

/** What becomes of one request. */
export interface RequestAudit {
  impersonated(user: UserInfo): void
  decided(decision: Decision): void
  /** Said by whoever answers it: which cluster it went to. */
  annotate(key: string, value: string): void
  /** It is answered with this error. */
  failed(status: Status): void
  /** It is answered, or its client is gone. */
  ended(): void
}

export interface AuditorOptions {
  readonly policy: AuditPolicy
  readonly sink: AuditSink
  /** A request whose first event cannot be written is refused (`--audit-log-mode=blocking-strict`). */
  readonly strict: boolean
  readonly newId: () => string
  readonly clock: Clock
}

export function createAuditor(options: AuditorOptions): Auditor {
  return {
    async begin(audited) {
      const rule = options.policy.ruleFor(audited.user, audited.attributes)
      const auditID = idOf(audited.request) ?? options.newId()
      audited.response.setHeader('audit-id', auditID)
      if (rule.level === 'None') return undefined
      const audit = new OneRequest(options, rule, auditID, audited)
      if (!(await audit.received()) && options.strict) {
        throw new StatusError('internal', 'Internal error occurred: failed to store audit event')
      }
      return audit
    },
  }
}

/** A caller's own, so that one request keeps its id from server to server. */
function idOf({ headers }: IncomingMessage): string | undefined {
  const id = headers['audit-id']
  return typeof id === 'string' && /^[\x21-\x7e]{1,64}$/.test(id) ? id : undefined
}

const MAX_USER_AGENT = 1_024

class OneRequest implements RequestAudit {
  readonly #options: AuditorOptions
  readonly #rule: AuditRule
  readonly #auditID: string
  readonly #audited: AuditedRequest
  readonly #receivedMs: number
  readonly #sourceIPs: readonly string[]
  readonly #requestBody: Collected | undefined
  readonly #responseBody: Collected | undefined
  readonly #annotations: Record<string, string> = {}
  #impersonated: UserInfo | undefined
  #status: ResponseStatus | undefined

  constructor(options: AuditorOptions, rule: AuditRule, auditID: string, audited: AuditedRequest) {
    this.#options = options
    this.#rule = rule
    this.#auditID = auditID
    this.#audited = audited
    this.#receivedMs = options.clock.nowMs()
    this.#sourceIPs = sourceIPs(audited.request)
    const bodies = !audited.lasts && mayRecordBodies(audited.path)
    this.#requestBody =
      bodies && this.#atLeast('Request') ? collectRequest(audited.request, audited.response) : undefined
    this.#responseBody = bodies && this.#atLeast('RequestResponse') ? collectResponse(audited.response) : undefined
    if (audited.lasts) this.#tellStart()
  }

  received(): boolean | Promise<boolean> {
    return this.#log('RequestReceived')
  }

  impersonated(user: UserInfo): void {
    this.#impersonated = user
  }

  annotate(key: string, value: string): void {
    this.#annotations[key] = value
  }

  decided({ allowed, reason }: Decision): void {
    this.#annotations['authorization.k8s.io/decision'] = allowed ? 'allow' : 'forbid'
    this.#annotations['authorization.k8s.io/reason'] = reason
  }

  failed({ code, message, reason, status }: Status): void {
    this.#status = {
      metadata: {},
      status,
      ...(message === undefined ? {} : { message }),
      ...(reason === undefined ? {} : { reason }),
      code,
    }
  }

  ended(): void {
    void this.#log(this.#status?.code === 500 ? 'Panic' : 'ResponseComplete')
  }

  /** When the head of the answer is sent. */
  #tellStart(): void {
    const { response } = this.#audited
    const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse
    response.writeHead = ((...args: unknown[]) => {
      const result = writeHead(...args)
      response.writeHead = writeHead as typeof response.writeHead
      void this.#log('ResponseStarted')
      return result
    }) as typeof response.writeHead
  }

  #atLeast(level: AuditRule['level']): boolean {
    return LEVELS.indexOf(this.#rule.level) >= LEVELS.indexOf(level)
  }

  #log(stage: Stage): boolean | Promise<boolean> {
    if (this.#rule.omitStages.has(stage)) return true
    const { clock, sink } = this.#options
    const { request, response, attributes, user } = this.#audited
    const userAgent = request.headers['user-agent']
    const reference = objectReference(attributes)
    const over = stage === 'ResponseComplete' || stage === 'Panic'
    const bodies = over ? this.#bodies() : {}
    return sink.log({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#rule.level,
      auditID: this.#auditID,
      stage,
      requestURI: request.url ?? '',
      verb: attributes.verb,
      user: eventUser(user),
      ...(this.#impersonated === undefined ? {} : { impersonatedUser: eventUser(this.#impersonated) }),
      sourceIPs: this.#sourceIPs,
      ...(userAgent === undefined ? {} : { userAgent: cut(userAgent) }),
      ...(reference === undefined ? {} : { objectRef: reference }),
      ...(stage === 'RequestReceived' ? {} : { responseStatus: this.#status ?? statusOf(response) }),
      ...bodies,
      requestReceivedTimestamp: microTime(this.#receivedMs),
      stageTimestamp: microTime(clock.nowMs()),
      ...(Object.keys(this.#annotations).length === 0 ? {} : { annotations: { ...this.#annotations } }),
    })
  }

  #bodies(): Pick<AuditEvent, 'requestObject' | 'responseObject'> {
    const { request, response } = this.#audited
    const requestObject = this.#body('request', this.#requestBody, request.headers['content-type'], '')
    const type = response.getHeader('content-type')
    const encoding = response.getHeader('content-encoding')
    const responseObject = this.#body('response', this.#responseBody, text(type), text(encoding))
    return {
      ...(requestObject === undefined ? {} : { requestObject }),
      ...(responseObject === undefined ? {} : { responseObject }),
    }
  }

  #body(which: string, collected: Collected | undefined, type = '', encoding: string): unknown {
    if (collected === undefined) return undefined
    const { object, omitted } = decodeBody(collected, type, encoding, this.#rule.omitManagedFields)
    if (omitted !== undefined) this.#annotations[`audit.fleetsearch.dev/${which}-omitted`] = omitted
    return object
  }
}

function text(header: number | string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}

function statusOf({ headersSent, statusCode }: ServerResponse): ResponseStatus {
  if (headersSent) return { metadata: {}, code: statusCode }
  return { metadata: {}, status: 'Success', message: 'Connection closed early', code: 200 }
}

function cut(userAgent: string): string {
  return userAgent.length <= MAX_USER_AGENT ? userAgent : `${userAgent.slice(0, MAX_USER_AGENT)}...TRUNCATED`
}

/** All but the last may be invented by the client. Source: apimachinery pkg/util/net, SourceIPs. */
function sourceIPs(request: IncomingMessage): string[] {
  const header = (name: string): string[] => {
    const value = request.headers[name]
    return (typeof value === 'string' ? value : '').split(',').map((part) => part.trim())
  }
  const claimed = header('x-forwarded-for')
    .filter((part) => isIP(part) !== 0)
    .slice(0, 32)
  const [real = ''] = header('x-real-ip')
  if (isIP(real) !== 0 && !claimed.includes(real)) claimed.push(real)
  const remote = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  if (isIP(remote) !== 0 && claimed.at(-1) !== remote) claimed.push(remote)
  return claimed
}

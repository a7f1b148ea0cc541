/** Events of `audit.k8s.io/v1`, as they are written. Source: apiserver pkg/apis/audit/v1/types.go, pkg/audit/format.go. */
import type { UserInfo } from '../../http/api-request.ts'
import type { RequestAttributes } from '../request-info.ts'
import type { Level, Stage } from './policy.ts'

export interface AuditEvent {
  readonly kind: 'Event'
  readonly apiVersion: 'audit.k8s.io/v1'
  readonly level: Level
  readonly auditID: string
  readonly stage: Stage
  readonly requestURI: string
  readonly verb: string
  readonly user: EventUser
  readonly impersonatedUser?: EventUser
  readonly sourceIPs: readonly string[]
  readonly userAgent?: string
  readonly objectRef?: ObjectReference
  readonly responseStatus?: ResponseStatus
  readonly requestObject?: unknown
  readonly responseObject?: unknown
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations?: Readonly<Record<string, string>>
}

export interface EventUser {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface ObjectReference {
  readonly resource?: string
  readonly name?: string
  readonly apiGroup?: string
  readonly apiVersion?: string
  readonly subresource?: string
}

/** `metav1.Status`, cut down to what is left of it in an event. */
export interface ResponseStatus {
  readonly metadata: object
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly code: number
}

export function eventUser(user: UserInfo | undefined): EventUser {
  if (user === undefined) return {}
  return {
    username: user.name,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  }
}

/** Undefined for requests that are for no resource. */
export function objectReference(attributes: RequestAttributes): ObjectReference | undefined {
  if (!attributes.isResource) return undefined
  const { resource, name, group, version, subresource } = attributes
  return {
    resource,
    ...(name === '' ? {} : { name }),
    apiGroup: group,
    apiVersion: version,
    ...(subresource === '' ? {} : { subresource }),
  }
}

/** RFC 3339 with microseconds, as `metav1.MicroTime`; the clock gives milliseconds. */
export function microTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/Z$/, '000Z')
}

/** One line for one event: JSON, or the text of `--audit-log-format=legacy`. */
export function eventLine(event: AuditEvent, format: 'json' | 'legacy'): string {
  return format === 'json' ? JSON.stringify(event) : legacyLine(event)
}

function legacyLine(event: AuditEvent): string {
  const quoted = JSON.stringify
  const groups = (user: EventUser | undefined): string => {
    const names = user?.groups ?? []
    return names.length === 0 ? quoted('<none>') : quoted(names.map((name) => quoted(name)).join(','))
  }
  const fields: readonly (readonly [string, string])[] = [
    ['id', quoted(event.auditID)],
    ['stage', quoted(event.stage)],
    ['ip', quoted(event.sourceIPs[0] ?? '<unknown>')],
    ['method', quoted(event.verb)],
    ['user', quoted(event.user.username ?? '<none>')],
    ['groups', groups(event.user)],
    ['as', quoted(event.impersonatedUser?.username ?? '<self>')],
    ['asgroups', event.impersonatedUser === undefined ? quoted('<lookup>') : groups(event.impersonatedUser)],
    ['user-agent', quoted(event.userAgent ?? '')],
    ['namespace', quoted('<none>')],
    ['uri', quoted(event.requestURI)],
    ['response', quoted(event.responseStatus === undefined ? '<deferred>' : String(event.responseStatus.code))],
  ]
  return `${event.requestReceivedTimestamp} AUDIT: ${fields.map(([name, value]) => `${name}=${value}`).join(' ')}`
}

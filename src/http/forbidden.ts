/**
 * Refusals in the words of a kube-apiserver.
 * Source: apiserver pkg/endpoints/handlers/responsewriters/errors.go; apimachinery pkg/api/errors (NewForbidden).
 */
import { goQuote } from '../kube/go-text.ts'
import { groupResourceKey } from '../kube/group-version.ts'
import { StatusError } from '../kube/status-error.ts'
import type { UserInfo } from './api-request.ts'

export interface ForbiddenResource {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty: the resource itself. */
  readonly subresource: string
  /** Empty or undefined: at the cluster scope. */
  readonly namespace?: string
  /** Empty: no single object. */
  readonly name: string
}

export interface ForbiddenPath {
  readonly verb: string
  readonly path: string
}

/** `reason`: what an authorizer says of it; empty: nothing. */
export function forbidden(user: UserInfo, what: ForbiddenResource | ForbiddenPath, reason = ''): StatusError {
  const who = `User ${goQuote(user.name)} cannot ${what.verb}`
  const why = reason === '' ? '' : `: ${reason}`
  if ('path' in what) {
    const message = `forbidden: ${escapeHtml(`${who} path ${goQuote(what.path)}`)}${why}`
    return new StatusError('forbidden', message, { details: {} })
  }
  const { group, resource, subresource, name, namespace = '' } = what
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`
  const act = escapeHtml(`${who} resource ${goQuote(whole)} in API group ${goQuote(group)} ${where}`)
  const subject = `${groupResourceKey(what)}${name === '' ? '' : ` ${goQuote(name)}`}`
  return new StatusError('forbidden', `${subject} is forbidden: ${act}${why}`, {
    details: { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
  })
}

/** As a kube-apiserver does, for whoever shows a message in a page. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

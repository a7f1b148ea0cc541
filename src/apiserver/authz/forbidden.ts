/** Refusals in the words of a kube-apiserver (apiserver pkg/endpoints/handlers/responsewriters/errors.go). */
import type { UserInfo } from '../../http/api-request.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { RequestAttributes } from '../request-info.ts'

export function forbidden(user: UserInfo, attributes: RequestAttributes, reason: string): StatusError {
  const why = reason === '' ? '' : `: ${reason}`
  const who = `User ${JSON.stringify(user.name)} cannot ${attributes.verb}`
  if (!attributes.isResource) {
    return new StatusError('forbidden', `forbidden: ${who} path ${JSON.stringify(attributes.path)}${why}`, {
      details: {},
    })
  }
  const { group, resource, subresource, name, namespace } = attributes
  const subject = group === '' ? resource : `${resource}.${group}`
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`
  const message =
    `${subject}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: ${who} resource ` +
    `${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${why}`
  return new StatusError('forbidden', message, {
    details: { ...(group === '' ? {} : { group }), kind: resource, ...(name === '' ? {} : { name }) },
  })
}

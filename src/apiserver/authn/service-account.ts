/** User names of service accounts. Source: apiserver pkg/authentication/serviceaccount/util.go. */

export interface ServiceAccount {
  readonly namespace: string
  readonly name: string
}

const USER_PREFIX = 'system:serviceaccount:'
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** `system:serviceaccount:NAMESPACE:NAME`; undefined for every other user's name. */
export function parseServiceAccount(user: string): ServiceAccount | undefined {
  if (!user.startsWith(USER_PREFIX)) return undefined
  const [namespace = '', name = '', ...rest] = user.slice(USER_PREFIX.length).split(':')
  if (rest.length > 0 || !LABEL.test(namespace) || name.length > 253 || !SUBDOMAIN.test(name)) return undefined
  return { namespace, name }
}

export function serviceAccountGroups({ namespace }: ServiceAccount): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

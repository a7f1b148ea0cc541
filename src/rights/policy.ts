/**
 * RBAC's objects, as little of them as rights are decided by.
 * Source: kubernetes plugin/pkg/auth/authorizer/rbac, pkg/apis/rbac/v1/evaluation_helpers.go, pkg/registry/rbac/validation.
 */
import { fieldsList, fields, textOrEmpty, texts, type Fields } from '../fleet/fields.ts'

/** Left out: nonResourceURLs, which have nothing to do with objects. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly groups: readonly string[]
  readonly resources: readonly string[]
  /** Empty: every name. */
  readonly names: readonly string[]
}

export interface Binding {
  /** Empty: a ClusterRoleBinding. */
  readonly namespace: string
  /** Key of the role it grants (`roleKey`); undefined: of one that cannot be. */
  readonly role: string | undefined
  /** Keys (`userKey`, `groupKey`). */
  readonly subjects: readonly string[]
}

/** What is asked of a rule; name and namespace are the answer. */
export interface PolicyQuestion {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty: the resource itself. */
  readonly subresource: string
}

const ALL = '*'

export function userKey(name: string): string {
  return `u${name}`
}

export function groupKey(name: string): string {
  return `g${name}`
}

/** A ClusterRole has no namespace. */
export function roleKey(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

export function ruleMatches(rule: PolicyRule, question: PolicyQuestion): boolean {
  const { verb, group } = question
  return (
    rule.verbs.some((allowed) => allowed === ALL || allowed === verb) &&
    rule.groups.some((allowed) => allowed === ALL || allowed === group) &&
    resourceMatches(rule.resources, question)
  )
}

function resourceMatches(allowed: readonly string[], { resource, subresource }: PolicyQuestion): boolean {
  const wanted = subresource === '' ? resource : `${resource}/${subresource}`
  return allowed.some(
    (text) => text === ALL || text === wanted || (subresource !== '' && text === `${ALL}/${subresource}`),
  )
}

/** Rules that can match nothing are left out. An aggregated ClusterRole has the rules of the others in it. */
export function rulesOf(role: Fields, intern: (text: string) => string): readonly PolicyRule[] {
  const list = (rule: Fields, key: string): readonly string[] => texts(rule, key).map(intern)
  return fieldsList(role, 'rules')
    .map((rule) => ({
      verbs: list(rule, 'verbs'),
      groups: list(rule, 'apiGroups'),
      resources: list(rule, 'resources'),
      names: list(rule, 'resourceNames'),
    }))
    .filter(({ verbs, groups, resources }) => verbs.length > 0 && groups.length > 0 && resources.length > 0)
}

export function bindingOf(binding: Fields, intern: (text: string) => string): Binding {
  const namespace = intern(textOrEmpty(fields(binding.metadata), 'namespace'))
  const role = referredRole(fields(binding.roleRef), namespace)
  const subjects = fieldsList(binding, 'subjects')
    .map((subject) => subjectKey(subject, namespace))
    .filter((key) => key !== undefined)
  return { namespace, role: role === undefined ? undefined : intern(role), subjects: subjects.map(intern) }
}

/** A ClusterRoleBinding of a Role grants nothing: there is no namespace to find it in. */
function referredRole(ref: Fields, namespace: string): string | undefined {
  const name = textOrEmpty(ref, 'name')
  switch (textOrEmpty(ref, 'kind')) {
    case 'ClusterRole':
      return roleKey('', name)
    case 'Role':
      return namespace === '' ? undefined : roleKey(namespace, name)
    default:
      return undefined
  }
}

/** A service account without a namespace is one of the binding's own. */
function subjectKey(subject: Fields, bindingNamespace: string): string | undefined {
  const name = textOrEmpty(subject, 'name')
  switch (textOrEmpty(subject, 'kind')) {
    case 'User':
      return userKey(name)
    case 'Group':
      return groupKey(name)
    case 'ServiceAccount': {
      const own = textOrEmpty(subject, 'namespace')
      const namespace = own === '' ? bindingNamespace : own
      return namespace === '' ? undefined : userKey(`system:serviceaccount:${namespace}:${name}`)
    }
    default:
      return undefined
  }
}

/** RBAC objects for tests, as a kube-apiserver sends them, and an authorizer that reads them the slow and obvious way. */
export interface RuleDraft {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
}

export interface SubjectDraft {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

export interface RoleDraft {
  /** Empty: a ClusterRole. */
  readonly namespace: string
  readonly name: string
  readonly rules: readonly RuleDraft[]
}

export interface BindingDraft {
  /** Empty: a ClusterRoleBinding. */
  readonly namespace: string
  readonly name: string
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly SubjectDraft[]
}

export interface Policy {
  readonly roles: readonly RoleDraft[]
  readonly bindings: readonly BindingDraft[]
}

export interface Attributes {
  readonly user: string
  readonly groups: readonly string[]
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

const API_GROUP = 'rbac.authorization.k8s.io'

export function roleObject({ namespace, name, rules }: RoleDraft): object {
  const kind = namespace === '' ? 'ClusterRole' : 'Role'
  return { apiVersion: `${API_GROUP}/v1`, kind, metadata: metadataOf(namespace, name), rules }
}

export function bindingObject({ namespace, name, roleRef, subjects }: BindingDraft): object {
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'
  return {
    apiVersion: `${API_GROUP}/v1`,
    kind,
    metadata: metadataOf(namespace, name),
    roleRef: { apiGroup: API_GROUP, ...roleRef },
    subjects: subjects.map((subject) =>
      subject.kind === 'ServiceAccount' ? subject : { apiGroup: API_GROUP, ...subject },
    ),
  }
}

function metadataOf(namespace: string, name: string): object {
  return { name, ...(namespace === '' ? {} : { namespace }), resourceVersion: '1' }
}

/** One question to one policy. Shares nothing with the product. */
export function slowlyAllowed(policy: Policy, attributes: Attributes): boolean {
  if (attributes.groups.includes('system:masters')) return true
  return policy.bindings.some((binding) => {
    const inScope =
      binding.namespace === '' || (attributes.namespace !== '' && binding.namespace === attributes.namespace)
    if (!inScope || !binding.subjects.some((subject) => isSubject(subject, binding.namespace, attributes))) return false
    if (binding.roleRef.kind === 'Role' && binding.namespace === '') return false
    const home = binding.roleRef.kind === 'Role' ? binding.namespace : ''
    const role = policy.roles.find((each) => each.namespace === home && each.name === binding.roleRef.name)
    return role?.rules.some((rule) => ruleAllows(rule, attributes)) ?? false
  })
}

function isSubject(subject: SubjectDraft, bindingNamespace: string, { user, groups }: Attributes): boolean {
  if (subject.kind === 'User') return subject.name === user
  if (subject.kind === 'Group') return groups.includes(subject.name)
  const namespace = subject.namespace ?? bindingNamespace
  return namespace !== '' && user === `system:serviceaccount:${namespace}:${subject.name}`
}

function ruleAllows(rule: RuleDraft, { verb, group, resource, subresource, name }: Attributes): boolean {
  const has = (list: readonly string[], value: string): boolean => list.includes('*') || list.includes(value)
  const combined = subresource === '' ? resource : `${resource}/${subresource}`
  const resourceFits =
    has(rule.resources, combined) || (subresource !== '' && rule.resources.includes(`*/${subresource}`))
  const names = rule.resourceNames ?? []
  return (
    has(rule.verbs, verb) && has(rule.apiGroups, group) && resourceFits && (names.length === 0 || names.includes(name))
  )
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Fields } from '../../src/fleet/fields.ts'
import { scopeOf } from '../../src/rights/evaluate.ts'
import { memberIdentity } from '../../src/rights/member-identity.ts'
import { roleKey } from '../../src/rights/policy.ts'
import { RbacIndex } from '../../src/rights/rbac-index.ts'
import {
  bindingObject,
  roleObject,
  slowlyAllowed,
  type BindingDraft,
  type Policy,
  type RoleDraft,
  type RuleDraft,
} from './rbac-objects.ts'

function indexOf({ roles, bindings }: Policy): RbacIndex {
  const index = new RbacIndex()
  for (const role of roles) {
    const kind = role.namespace === '' ? 'clusterroles' : 'roles'
    index.put(kind, roleKey(role.namespace, role.name), index.parse(kind, roleObject(role) as Fields))
  }
  for (const binding of bindings) {
    const kind = binding.namespace === '' ? 'clusterrolebindings' : 'rolebindings'
    index.put(kind, roleKey(binding.namespace, binding.name), index.parse(kind, bindingObject(binding) as Fields))
  }
  return index
}

const NAMESPACES = ['ns1', 'ns2']
const NAMES = ['a', 'b']
const SERVICE_ACCOUNT = 'system:serviceaccount:ns1:robot'
const some = (values: readonly string[], maxLength = 2): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...values), { maxLength })

const rule: fc.Arbitrary<RuleDraft> = fc.record({
  verbs: some(['get', 'list', '*']),
  apiGroups: some(['', 'apps', '*']),
  resources: some(['pods', 'pods/log', '*/log', '*', 'secrets', '*/*']),
  resourceNames: some([...NAMES, '']),
})
const role: fc.Arbitrary<RoleDraft> = fc.record({
  namespace: fc.constantFrom('', ...NAMESPACES),
  name: fc.constantFrom('r1', 'r2'),
  rules: fc.array(rule, { maxLength: 3 }),
})
const binding: fc.Arbitrary<BindingDraft> = fc.record({
  namespace: fc.constantFrom('', ...NAMESPACES),
  name: fc.constantFrom('b1', 'b2', 'b3', 'b4'),
  roleRef: fc.record({ kind: fc.constantFrom('Role', 'ClusterRole'), name: fc.constantFrom('r1', 'r2', 'gone') }),
  subjects: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('User'), name: fc.constantFrom('bob', SERVICE_ACCOUNT, 'robot') }),
      fc.record({ kind: fc.constant('Group'), name: fc.constantFrom('dev', 'system:authenticated', 'bob') }),
      fc.record(
        { kind: fc.constant('ServiceAccount'), name: fc.constant('robot'), namespace: fc.constantFrom('ns1', 'ns2') },
        { requiredKeys: ['kind', 'name'] },
      ),
    ),
    { maxLength: 2 },
  ),
})
const unique = <T extends { namespace: string; name: string }>(list: readonly T[]): T[] => [
  ...new Map(list.map((each) => [`${each.namespace}/${each.name}`, each])).values(),
]
const policy: fc.Arbitrary<Policy> = fc.record({
  roles: fc.array(role, { maxLength: 5 }).map(unique),
  bindings: fc.array(binding, { maxLength: 8 }).map(unique),
})
const user = fc.record({ name: fc.constantFrom('bob', 'eve', SERVICE_ACCOUNT), groups: some(['dev', 'ops']) })

test('a scope says of every namespace and name what the authorizer says of that one request', () => {
  const kind = fc.record({
    verb: fc.constantFrom('get', 'list'),
    group: fc.constantFrom('', 'apps'),
    resource: fc.constantFrom('pods', 'secrets'),
    subresource: fc.constantFrom('', 'log'),
  })
  fc.assert(
    fc.property(policy, user, kind, (drafts, caller, question) => {
      const identity = memberIdentity(caller)
      const scope = scopeOf(indexOf(drafts), identity, question)
      for (const namespace of ['', ...NAMESPACES, 'other']) {
        for (const name of ['', ...NAMES, 'c']) {
          const attributes = { user: identity.name, groups: identity.groups, ...question, namespace, name }
          assert.equal(scope.allows(namespace, name), slowlyAllowed(drafts, attributes), `${namespace}/${name}`)
        }
      }
    }),
    { numRuns: 1_500 },
  )
})

test('an index that changed step by step is one that was made at once', () => {
  const steps = fc.array(
    fc.oneof(
      role.map((put) => ({ role: put })),
      binding.map((put) => ({ binding: put })),
    ),
  )
  fc.assert(
    fc.property(steps, fc.array(fc.nat(20)), user, (puts, removals, caller) => {
      const index = new RbacIndex()
      const roles = new Map<string, RoleDraft>()
      const bindings = new Map<string, BindingDraft>()
      for (const [i, step] of puts.entries()) {
        if ('role' in step) {
          const kind = step.role.namespace === '' ? 'clusterroles' : 'roles'
          const key = roleKey(step.role.namespace, step.role.name)
          index.put(kind, key, index.parse(kind, roleObject(step.role) as Fields))
          roles.set(key, step.role)
          if (removals.includes(i)) {
            index.remove(kind, key)
            roles.delete(key)
          }
        } else {
          const kind = step.binding.namespace === '' ? 'clusterrolebindings' : 'rolebindings'
          const key = roleKey(step.binding.namespace, step.binding.name)
          index.put(kind, key, index.parse(kind, bindingObject(step.binding) as Fields))
          bindings.set(key, step.binding)
          if (removals.includes(i)) {
            index.remove(kind, key)
            bindings.delete(key)
          }
        }
      }
      const fresh = indexOf({ roles: [...roles.values()], bindings: [...bindings.values()] })
      const question = { verb: 'get', group: '', resource: 'pods', subresource: '' }
      const identity = memberIdentity(caller)
      for (const namespace of ['', ...NAMESPACES]) {
        for (const name of ['', ...NAMES]) {
          assert.equal(
            scopeOf(index, identity, question).allows(namespace, name),
            scopeOf(fresh, identity, question).allows(namespace, name),
          )
        }
      }
      assert.equal(index.size, fresh.size)
    }),
  )
})

test('system:masters may do everything, whatever the roles say', () => {
  const identity = memberIdentity({ name: 'root', groups: ['system:masters'] })
  const scope = scopeOf(new RbacIndex(), identity, { verb: 'list', group: '', resource: 'secrets', subresource: '' })
  assert.equal(scope.everything, true)
})

test('an aggregated ClusterRole is the rules that are stored in it', () => {
  const index = new RbacIndex()
  const aggregated = {
    ...roleObject({ namespace: '', name: 'view', rules: [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }] }),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { x: 'y' } }] },
  }
  index.put('clusterroles', '/view', index.parse('clusterroles', aggregated as unknown as Fields))
  const bound = { namespace: 'ns1', name: 'b', roleRef: { kind: 'ClusterRole', name: 'view' } }
  const subjects = [{ kind: 'Group', name: 'dev' }]
  index.put('rolebindings', 'ns1/b', index.parse('rolebindings', bindingObject({ ...bound, subjects }) as Fields))
  const question = { verb: 'list', group: '', resource: 'pods', subresource: '' }
  const scope = scopeOf(index, memberIdentity({ name: 'bob', groups: ['dev'] }), question)
  assert.deepEqual([...scope.namespaces], ['ns1'])
})

test('replacing a resource takes what is not there any more away', () => {
  const index = indexOf({
    roles: [{ namespace: '', name: 'all', rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] }],
    bindings: [
      {
        namespace: '',
        name: 'bob',
        roleRef: { kind: 'ClusterRole', name: 'all' },
        subjects: [{ kind: 'User', name: 'bob' }],
      },
    ],
  })
  const identity = memberIdentity({ name: 'bob', groups: [] })
  const question = { verb: 'list', group: '', resource: 'pods', subresource: '' }
  assert.equal(scopeOf(index, identity, question).everything, true)
  index.replace('clusterrolebindings', new Map())
  assert.equal(scopeOf(index, identity, question).nothing, true)
})

test('who a caller is in a member: groups that members add themselves are theirs to add', () => {
  const groupsOf = (name: string, groups: string[]): readonly string[] => memberIdentity({ name, groups }).groups
  assert.deepEqual(groupsOf('bob', ['système:équipe']), ['system:authenticated', 'système:équipe'])
  assert.deepEqual(groupsOf('bob', ['system:unauthenticated']), ['system:authenticated'])
  assert.deepEqual(groupsOf('system:anonymous', ['system:unauthenticated']), ['system:unauthenticated'])
  const account = ['system:authenticated', 'system:serviceaccounts', 'system:serviceaccounts:ns1']
  assert.deepEqual(groupsOf(SERVICE_ACCOUNT, []), account)
  assert.deepEqual(groupsOf(SERVICE_ACCOUNT, ['system:serviceaccounts']), account)
  assert.deepEqual(groupsOf(SERVICE_ACCOUNT, ['dev']), ['dev', 'system:authenticated'])
})

/** RBAC objects made by chance, written to a real member so that both it and we have them. */
import type { BindingDraft, Policy, RoleDraft, RuleDraft, SubjectDraft } from '../rights/rbac-objects.ts'
import { bindingObject, roleObject } from '../rights/rbac-objects.ts'
import type { Random } from '../../src/util/clock.ts'
import type { RealCluster } from './real-parts/index.ts'
import { BASE, KINDS, NAMESPACES, RULE_NAMES, type Caller, type RightsWorld } from './rights-world.ts'
import { eventually } from './whole-service.ts'

export const CALLERS: readonly Caller[] = [
  { name: 'bob', groups: ['dev'] },
  { name: 'eve:with:colons', groups: [] },
  { name: 'zoé@例え', groups: ['équipe', 'ops'] },
  { name: 'system:serviceaccount:ns1:robot', groups: [] },
  { name: 'system:serviceaccount:ns2:robot', groups: ['dev'] },
  { name: 'root-ish', groups: ['ops', 'dev'] },
]

const SUBJECTS: readonly SubjectDraft[] = [
  { kind: 'User', name: 'bob' },
  { kind: 'User', name: 'eve:with:colons' },
  { kind: 'User', name: 'zoé@例え' },
  { kind: 'User', name: 'system:serviceaccount:ns2:robot' },
  { kind: 'Group', name: 'dev' },
  { kind: 'Group', name: 'équipe' },
  { kind: 'Group', name: 'ops' },
  { kind: 'Group', name: 'system:serviceaccounts:ns1' },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'ns1' },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'ns2' },
  { kind: 'User', name: 'root-ish' },
]

export class Dice {
  readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  some<T>(values: readonly T[], least: number, most: number): T[] {
    const wanted = least + this.below(most - least + 1)
    const left = [...values]
    return Array.from({ length: Math.min(wanted, left.length) }, () => left.splice(this.below(left.length), 1)[0] as T)
  }
}

function randomPolicy(dice: Dice): Policy {
  const roles: RoleDraft[] = []
  for (let i = 0; i < 6; i++) roles.push({ namespace: '', name: `fuzz-c${i}`, rules: randomRules(dice) })
  for (const namespace of NAMESPACES) {
    for (let i = 0; i < 2; i++) roles.push({ namespace, name: `fuzz-r${i}`, rules: randomRules(dice) })
  }
  const bindings: BindingDraft[] = []
  for (let i = 0; i < 4; i++) {
    const roleRef = { kind: 'ClusterRole', name: `fuzz-c${dice.below(7)}` }
    bindings.push({ namespace: '', name: `fuzz-b${i}`, roleRef, subjects: dice.some(SUBJECTS, 1, 3) })
  }
  for (let i = 0; i < 8; i++) {
    const roleRef = dice.chance(0.6)
      ? { kind: 'ClusterRole', name: `fuzz-c${dice.below(7)}` }
      : { kind: 'Role', name: `fuzz-r${dice.below(3)}` }
    const subjects = dice.some(SUBJECTS, 1, 3)
    bindings.push({ namespace: dice.one(NAMESPACES), name: `fuzz-b${i}`, roleRef, subjects })
  }
  return { roles, bindings }
}

const RESOURCES = [...KINDS.map(({ resource }) => resource), 'pods/log']
const GROUPS = ['', 'apps', 'scheduling.k8s.io', 'discovery.k8s.io', 'batch']

function randomRules(dice: Dice): RuleDraft[] {
  return Array.from({ length: 1 + dice.below(2) }, () => ({
    verbs: dice.chance(0.4) ? ['*'] : dice.some(['get', 'list', 'watch', 'create', 'delete'], 1, 4),
    apiGroups: dice.chance(0.5) ? ['*'] : dice.some(GROUPS, 1, 3),
    resources: dice.chance(0.4) ? ['*'] : dice.some([...RESOURCES, '*/status', '*/log'], 1, 4),
    ...(dice.chance(0.3) ? { resourceNames: dice.some(RULE_NAMES, 1, 3) } : {}),
  }))
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LABEL = { fuzz: 'yes' }

/** One for each member: often the same for all of them, as in a fleet whose roles are propagated. */
export function randomPolicies(dice: Dice, members: number): Policy[] {
  const first = randomPolicy(dice)
  return Array.from({ length: members }, (_, i) => (i === 0 || dice.chance(0.4) ? first : randomPolicy(dice)))
}

/** Takes the place of the policy before; resolves when the member and we go by it. */
export async function applyPolicies(world: RightsWorld, policies: readonly Policy[], round: number): Promise<void> {
  await Promise.all(
    world.members.map(async (member, i) => {
      await clear(member)
      const { roles, bindings } = policies[i] as Policy
      for (const role of roles) await create(member, role.namespace, 'role', roleObject(role))
      for (const binding of bindings) await create(member, binding.namespace, 'rolebinding', bindingObject(binding))
      await mark(member, round)
    }),
  )
  await eventually(() => isMarked(world, round), `the policies of round ${round}`)
}

async function clear(member: RealCluster): Promise<void> {
  const paths = ['clusterroles', 'clusterrolebindings'].concat(
    NAMESPACES.flatMap((ns) => [`namespaces/${ns}/roles`, `namespaces/${ns}/rolebindings`]),
  )
  await Promise.all(paths.map((path) => member.ok(`${RBAC}/${path}?labelSelector=fuzz=yes`, { method: 'DELETE' })))
}

async function create(member: RealCluster, namespace: string, what: string, object: object): Promise<void> {
  const { metadata, ...rest } = object as { metadata: { resourceVersion?: string } }
  const { resourceVersion: _none, ...named } = metadata
  const path = namespace === '' ? `cluster${what}s` : `namespaces/${namespace}/${what}s`
  await member.ok(`${RBAC}/${path}`, { body: { ...rest, metadata: { ...named, labels: LABEL } } })
}

const ROUND = 'fuzz-marker'

/** One of each kind, written last: whoever has them has all that was written before. */
async function mark(member: RealCluster, round: number): Promise<void> {
  const subjects = [{ kind: 'User', name: `${ROUND}-${round}` }]
  const rule = (resource: string): RuleDraft => ({ verbs: ['list'], apiGroups: [''], resources: [resource] })
  const name = `${ROUND}-${round}`
  const roleRef = { kind: 'ClusterRole', name }
  await create(member, '', 'role', roleObject({ namespace: '', name, rules: [rule('nodes')] }))
  await create(member, '', 'rolebinding', bindingObject({ namespace: '', name, roleRef, subjects }))
  await create(member, 'ns1', 'role', roleObject({ namespace: 'ns1', name, rules: [rule('secrets')] }))
  const inNamespace = { namespace: 'ns1', name, roleRef: { kind: 'Role', name }, subjects }
  await create(member, 'ns1', 'rolebinding', bindingObject(inNamespace))
}

async function isMarked({ members, ours, theirs }: RightsWorld, round: number): Promise<boolean> {
  const caller = { name: `${ROUND}-${round}`, groups: [] }
  const paths = ['/api/v1/nodes', '/api/v1/namespaces/ns1/secrets']
  const answers = await Promise.all(
    members.flatMap((member) =>
      paths.flatMap((path) => [
        theirs(member, caller, path),
        ours(caller, `${BASE}/proxying/cluster.${member.name}/proxy${path}`),
      ]),
    ),
  )
  return answers.every(({ status }) => status === 200)
}

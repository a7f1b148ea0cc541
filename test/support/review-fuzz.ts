/** Compares the evaluator of members' RBAC objects with the members' own SubjectAccessReviews, over policies by chance. */
import assert from 'node:assert/strict'
import type { ClusterName } from '../../src/kube/names.ts'
import { memberIdentity } from '../../src/rights/member-identity.ts'
import { seededRandom } from './fake-clock.ts'
import { applyPolicies, CALLERS, Dice, randomPolicies } from './random-policy.ts'
import type { RealCluster } from './real-parts/index.ts'
import { inParallel } from './rights-fuzz.ts'
import { NAMES, NAMESPACES, type Caller, type RightsWorld } from './rights-world.ts'

export interface ReviewTally {
  readonly questions: number
  readonly allowed: number
  /** The members' time for all reviews, and ours for the same questions, ms. */
  readonly reviewsMs: number
  readonly evaluatorMs: number
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'delete', 'use', '*']
const GROUPS = ['', 'apps', 'batch', 'scheduling.k8s.io', 'rbac.authorization.k8s.io']
const RESOURCES = ['configmaps', 'secrets', 'deployments', 'namespaces', 'nodes', 'priorityclasses', 'pods', 'roles']

/** Random questions to the evaluator and, by SubjectAccessReview, to the members. Rejects at the first difference. */
export async function compareReviews(
  world: RightsWorld,
  { questions, perPolicy, seed }: { readonly questions: number; readonly perPolicy: number; readonly seed: number },
): Promise<ReviewTally> {
  const dice = new Dice(seededRandom(seed))
  const never = new AbortController().signal
  let [allowed, reviewsMs, evaluatorMs] = [0, 0, 0]
  for (let asked = 0, round = 0; asked < questions; asked += perPolicy, round++) {
    await applyPolicies(world, randomPolicies(dice, world.members.length), seed * 1_000 + 500 + round)
    const batch = Array.from({ length: Math.min(perPolicy, questions - asked) }, () =>
      randomReview(dice, world.members),
    )
    let startedMs = performance.now()
    const local = await Promise.all(
      batch.map(async ({ member, caller, attributes }) => {
        const user = { ...caller, uid: '', extra: {} }
        const cluster = member.name as ClusterName
        const answer = await world.rights.of(
          { user, ...attributes, byObject: false, namespaced: true },
          [cluster],
          never,
        )
        return answer.get(cluster)?.scope.allows(attributes.namespace, attributes.name) ?? false
      }),
    )
    evaluatorMs += performance.now() - startedMs
    startedMs = performance.now()
    const places = batch.map((review, i) => ({ ...review, local: local[i] }))
    await inParallel(places, async ({ member, caller, attributes, local: ours }) => {
      const { groups } = memberIdentity(caller)
      const spec = { user: caller.name, groups, resourceAttributes: attributes }
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
      const { status } = (await member.ok(path, { body })) as { status: { allowed: boolean } }
      assert.equal(ours, status.allowed, JSON.stringify({ member: member.name, ...spec }))
      if (status.allowed) allowed += 1
    })
    reviewsMs += performance.now() - startedMs
  }
  return { questions, allowed, reviewsMs: Math.round(reviewsMs), evaluatorMs: Math.round(evaluatorMs) }
}

interface Review {
  readonly member: RealCluster
  readonly caller: Caller
  readonly attributes: {
    readonly verb: string
    readonly group: string
    readonly resource: string
    readonly subresource: string
    readonly namespace: string
    readonly name: string
  }
}

function randomReview(dice: Dice, members: readonly RealCluster[]): Review {
  return {
    member: dice.one(members),
    caller: dice.chance(0.05) ? { name: 'boss', groups: ['system:masters'] } : dice.one(CALLERS),
    attributes: {
      verb: dice.one(VERBS),
      group: dice.one(GROUPS),
      resource: dice.one(RESOURCES),
      subresource: dice.one(['', '', '', 'status', 'log', 'scale']),
      namespace: dice.one(['', ...NAMESPACES, 'gone']),
      name: dice.one(['', '', ...NAMES, ...NAMESPACES, 'gone']),
    },
  }
}

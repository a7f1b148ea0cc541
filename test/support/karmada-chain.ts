/**
 * What Karmada writes when it propagates a Deployment, as its controllers write it: the policy, the binding, a Work for each
 * cluster, and the marks on the objects in members. Source: karmada pkg/detector, pkg/controllers/binding,
 * pkg/controllers/ctrlutil/work.go, pkg/apis/work/v1alpha2/well_known_constants.go.
 */
import { until } from './karmada-fleet.ts'
import type { RealCluster } from './real-parts/index.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const POLICIES = '/apis/policy.karmada.io/v1alpha1'
export const BINDINGS = '/apis/work.karmada.io/v1alpha2'
export const WORKS = '/apis/work.karmada.io/v1alpha1'

export interface Propagated {
  readonly namespace: string
  readonly name: string
  readonly policy: string
  readonly clusters: readonly string[]
}

const text = { type: 'string' }
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const object = (properties: object): object => ({ type: 'object', properties })
const list = (items: object): object => ({ type: 'array', items })
const reference = object({
  apiVersion: text,
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  resourceVersion: text,
})

function definition(group: string, version: string, kind: string, plural: string, spec: object): object {
  const schema = { openAPIV3Schema: object({ spec, status: anything }) }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  }
}

/** The fields that are read of Karmada's own definitions; the rest of them is pruned. */
const CHAIN: readonly object[] = [
  definition(
    'policy.karmada.io',
    'v1alpha1',
    'PropagationPolicy',
    'propagationpolicies',
    object({
      resourceSelectors: list(reference),
      placement: object({ clusterAffinity: object({ clusterNames: list(text) }) }),
    }),
  ),
  definition(
    'work.karmada.io',
    'v1alpha2',
    'ResourceBinding',
    'resourcebindings',
    object({ resource: reference, clusters: list(object({ name: text, replicas: { type: 'integer' } })) }),
  ),
  definition(
    'work.karmada.io',
    'v1alpha1',
    'Work',
    'works',
    object({ workload: object({ manifests: list(anything) }) }),
  ),
]

/** Resolves when the API server serves them. */
export async function installChain(host: RealCluster): Promise<void> {
  for (const body of CHAIN) await host.ok(DEFINITIONS, { body })
  const paths = [`${POLICIES}/propagationpolicies`, `${BINDINGS}/resourcebindings`, `${WORKS}/works`]
  await until(async () => {
    const answers = await Promise.all(paths.map((at) => host.request(at)))
    return answers.every(({ status }) => status === 200)
  }, 'Karmada’s kinds')
}

const POLICY_ID = '0c9d5c4e-7d0b-4f0e-9a55-7f7a3e5d1c10'
const BINDING_ID = '5a1f0f0a-3c61-4a8e-8f0b-3f2f6f1f7b21'
const WORK_ID = 'b1b7fd0c-7b8c-4d0a-9b57-5d7a4a5c9d32'

const bindingOf = ({ name }: Propagated): string => `${name}-deployment`
const workOf = ({ name }: Propagated): string => `${name}-7c9f6d5b84`

function policyMarks({ namespace, policy }: Propagated) {
  return { 'propagationpolicy.karmada.io/namespace': namespace, 'propagationpolicy.karmada.io/name': policy }
}

function bindingMarks(propagated: Propagated) {
  const { namespace } = propagated
  return { 'resourcebinding.karmada.io/namespace': namespace, 'resourcebinding.karmada.io/name': bindingOf(propagated) }
}

/** Of the object in a member. */
export function memberMarks(propagated: Propagated, cluster: string): { labels: object; annotations: object } {
  return {
    labels: {
      'karmada.io/managed': 'true',
      'propagationpolicy.karmada.io/permanent-id': POLICY_ID,
      'resourcebinding.karmada.io/permanent-id': BINDING_ID,
      'work.karmada.io/permanent-id': WORK_ID,
    },
    annotations: {
      ...policyMarks(propagated),
      ...bindingMarks(propagated),
      'work.karmada.io/namespace': `karmada-es-${cluster}`,
      'work.karmada.io/name': workOf(propagated),
      'work.karmada.io/conflict-resolution': 'abort',
      'resourcetemplate.karmada.io/uid': 'e9a6c3c5-5b0b-4a4e-bb0e-2ad0f7c9a0f1',
      'resourcetemplate.karmada.io/managed-labels': 'karmada.io/managed',
    },
  }
}

/** On the control plane; `manifest` is the Deployment without its marks. */
export async function propagate(host: RealCluster, propagated: Propagated, manifest: object): Promise<void> {
  const { namespace, name, policy, clusters } = propagated
  const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }
  await host.ok(`${POLICIES}/namespaces/${namespace}/propagationpolicies`, {
    body: {
      ...{ apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy' },
      metadata: { name: policy, labels: { 'propagationpolicy.karmada.io/permanent-id': POLICY_ID } },
      spec: { resourceSelectors: [resource], placement: { clusterAffinity: { clusterNames: clusters } } },
    },
  })
  await host.ok(`${BINDINGS}/namespaces/${namespace}/resourcebindings`, {
    body: {
      ...{ apiVersion: 'work.karmada.io/v1alpha2', kind: 'ResourceBinding' },
      metadata: {
        name: bindingOf(propagated),
        labels: {
          'propagationpolicy.karmada.io/permanent-id': POLICY_ID,
          'resourcebinding.karmada.io/permanent-id': BINDING_ID,
        },
        annotations: policyMarks(propagated),
      },
      spec: { resource, clusters: clusters.map((each) => ({ name: each, replicas: 1 })) },
    },
  })
  for (const cluster of clusters) {
    const space = `karmada-es-${cluster}`
    await host.ok('/api/v1/namespaces', { body: { metadata: { name: space } } })
    const marked = { ...manifest, metadata: { namespace, name, ...memberMarks(propagated, cluster) } }
    await host.ok(`${WORKS}/namespaces/${space}/works`, {
      body: {
        ...{ apiVersion: 'work.karmada.io/v1alpha1', kind: 'Work' },
        metadata: {
          name: workOf(propagated),
          labels: {
            'resourcebinding.karmada.io/permanent-id': BINDING_ID,
            'work.karmada.io/permanent-id': WORK_ID,
          },
          annotations: bindingMarks(propagated),
        },
        spec: { workload: { manifests: [marked] } },
      },
    })
  }
}

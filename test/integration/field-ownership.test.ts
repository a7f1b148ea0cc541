/**
 * Field ownership against a real kube-apiserver: random writes to a custom resource of the same schema, and after each
 * the server's `managedFields`, its conflicts and what it stored must be what ours come to.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { FieldSet, pathText } from '../../src/registry/field-ownership/field-set.ts'
import { decodeOwners, encodeOwners, type Operation, type Owners } from '../../src/registry/field-ownership/managers.ts'
import { applied, ownersAfterUpdate, type OwnershipContext } from '../../src/registry/field-ownership/ownership.ts'
import { mergePatch } from '../../src/registry/merge-patch.ts'
import { REGISTRY, type Shape } from '../../src/registry/schema.ts'
import { seededRandom } from '../support/fake-clock.ts'
import { startControlPlane, type RealCluster, type TestResponse } from '../support/real-parts/index.ts'

type Json = Record<string, unknown>
type Kind = 'create' | 'put' | 'patch' | 'apply' | 'statusPatch' | 'statusApply'

const GROUP = 'mirror.fleetsearch.test'
const API_VERSION = `${GROUP}/v1alpha1`
const PATH = `/apis/${API_VERSION}/registries`
const WRITES = 600
const LATER = '2999-01-01T00:00:00Z' // than all that is stored

/** The schema of a CRD, from ours. What becomes empty is null for a moment, which Go's types do not mind. */
function openApi(shape: Shape): Json {
  if (shape === 'any') return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  if (shape === 'time') return { type: 'string' }
  if (typeof shape === 'string') return { type: shape }
  if ('list' in shape) return { type: 'array', nullable: true, items: openApi(shape.list) }
  if ('map' in shape) return { type: 'object', nullable: true, additionalProperties: openApi(shape.map) }
  const properties = Object.fromEntries(Object.entries(shape.fields).map(([name, field]) => [name, openApi(field)]))
  return {
    type: 'object',
    nullable: true,
    properties,
    ...(shape.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  }
}

const { apiVersion, kind, spec, status } = REGISTRY.fields
const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `registries.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Cluster',
    names: { plural: 'registries', singular: 'registry', kind: 'Registry', listKind: 'RegistryList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              apiVersion: openApi(apiVersion!),
              kind: openApi(kind!),
              metadata: { type: 'object' },
              spec: openApi(spec!),
              status: openApi(status!),
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
}

describe('who owns which fields', () => {
  let cluster: RealCluster
  const random = seededRandom(20_261_130)
  const pick = <T>(...choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!

  /** Some of the fields, each with one of few values, so that writers meet. */
  function some(fields: Readonly<Record<string, () => unknown>>, likely = 0.5): Json {
    const chosen = Object.entries(fields).filter(() => random() < likely)
    return Object.fromEntries(chosen.map(([name, value]) => [name, value()]))
  }

  const clusters = (): unknown => pick<unknown>([], ['m1'], ['m1', 'm2'])
  const randomSpec = (): Json =>
    some({
      targetCluster: () =>
        some({
          clusterNames: clusters,
          exclude: clusters,
          labelSelector: () => pick({}, { matchLabels: { a: 'b' } }, { matchLabels: { a: 'c' }, matchExpressions: [] }),
          fieldSelector: () => pick({}, { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] }),
        }),
      resourceSelectors: () => pick([], [{ apiVersion: 'v1', kind: 'Pod' }], [{ apiVersion: 'v1', kind: 'Node' }]),
      backendStore: () =>
        some({
          openSearch: () =>
            some({
              addresses: () => pick(['http://a'], ['http://b']),
              secretRef: () => some({ name: () => pick('x', 'y') }),
            }),
          elasticsearch: () => some({ addresses: () => ['http://c'] }),
        }),
    })
  const randomMetadata = (): Json =>
    some({
      labels: () => some({ a: () => pick('1', '2'), b: () => pick('1', '2'), 'c.d/e': () => '' }),
      annotations: () => some({ n: () => pick('1', '2'), m: () => 'x' }),
      finalizers: () =>
        pick<unknown>([], ['x.y/a'], ['x.y/b', 'x.y/a'], ['x.y/c', 'x.y/b'], ['x.y/a', 'x.y/b', 'x.y/c']),
      ownerReferences: () => pick<unknown>([], [owner('1')], [owner('2'), owner('1')]),
    })
  const owner = (uid: string): Json => ({ apiVersion: 'v1', kind: 'ConfigMap', name: pick('x', 'y'), uid })
  const condition = (): Json => ({
    type: 'Ready',
    status: pick('True', 'False'),
    reason: 'x',
    message: '',
    lastTransitionTime: '',
  })
  const randomStatus = (): Json => some({ conditions: () => pick([], [condition()]) })

  before(async () => {
    cluster = await startControlPlane({ name: 'mirror' })
    await cluster.ok('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: CRD })
    while ((await cluster.request(PATH)).status !== 200) continue
  })
  after(() => cluster.stop())

  function randomObject(name: string): Json {
    const metadata = { name, ...randomMetadata() }
    return {
      apiVersion: API_VERSION,
      kind: 'Registry',
      metadata,
      ...some({ spec: randomSpec, status: randomStatus }, 0.8),
    }
  }

  async function send(kind: Kind, name: string, body: Json, manager: string, force: boolean): Promise<TestResponse> {
    const isStatus = kind.startsWith('status')
    const isApply = kind === 'apply' || kind === 'statusApply'
    const query = `fieldManager=${manager}${isApply && force ? '&force=true' : ''}`
    if (kind === 'create') return cluster.request(`${PATH}?${query}`, { body })
    const type = isApply ? 'application/apply-patch+yaml' : 'application/merge-patch+json'
    return cluster.request(`${PATH}/${name}${isStatus ? '/status' : ''}?${query}`, {
      method: kind === 'put' ? 'PUT' : 'PATCH',
      headers: { 'content-type': kind === 'put' ? 'application/json' : type },
      body: JSON.stringify(body),
    })
  }

  it(`is what a real kube-apiserver says, over ${WRITES} random writes`, async () => {
    const seen: Record<string, number> = {}
    const objects = new Map<string, Json>()
    for (let i = 0; i < WRITES; i++) {
      const name = pick('a', 'b', 'c', 'd')
      const live = objects.get(name)
      if (live !== undefined && random() < 0.02) {
        await forget(name, live)
        objects.delete(name)
        continue
      }
      const kind: Kind =
        live === undefined
          ? pick('create', 'apply')
          : pick('put', 'patch', 'apply', 'apply', 'apply', 'statusPatch', 'statusApply')
      const manager = pick('one', 'two', 'three')
      const force = random() < 0.4
      const body = bodyOf(kind, name, live)
      const answer = await send(kind, name, body, manager, force)
      const what = `write ${i}: ${kind} by ${manager}${force ? ' (forced)' : ''} of ${JSON.stringify(body)} on ${JSON.stringify(live)}`
      const outcome = expected(kind, body, live, manager, force)
      if (outcome.conflicts.length > 0) {
        assert.equal(answer.status, 409, `${what}\n${answer.text}`)
        const { details } = answer.json() as { details: { causes: { field: string; message: string }[] } }
        const causes = details.causes.map(({ field, message }) => `${message} ${field}`)
        assert.deepEqual(causes.sort(), outcome.conflicts.sort(), what)
      } else {
        assert.ok(answer.status < 300, `${what}\n${answer.text}`)
        const stored = answer.json() as Json
        assert.deepEqual(comparable(ownersOf(stored)), comparable(outcome.owners), what)
        if (outcome.value !== undefined) assert.deepEqual(parts(stored), parts(outcome.value), what)
        objects.set(name, stored)
      }
      const label = `${kind}${outcome.conflicts.length > 0 ? ' in conflict' : ''}`
      seen[label] = (seen[label] ?? 0) + 1
    }
    for (const label of [
      'create',
      'put',
      'patch',
      'apply',
      'apply in conflict',
      'statusPatch',
      'statusApply in conflict',
    ]) {
      assert.ok((seen[label] ?? 0) >= 5, `${label}: ${JSON.stringify(seen)}`)
    }
  })

  it('keeps ten names of updates, and one for those before', async () => {
    let live = (
      await send(
        'create',
        'many',
        { apiVersion: API_VERSION, kind: 'Registry', metadata: { name: 'many', labels: { first: 'x' } } },
        'm',
        false,
      )
    ).json() as Json
    for (let i = 0; i < 25; i++) {
      const manager = `m${(i * 7) % 25}`
      const body = { metadata: { labels: { [manager]: 'x' } } }
      const next = (await send('patch', 'many', body, manager, false)).json() as Json
      // As late as the server took it to be: of those in one second the names decide which is the oldest.
      const now = [...ownersOf(next).values()]
        .map(({ time }) => time ?? '')
        .sort()
        .at(-1)
      const outcome = expected('patch', body, live, manager, false, now)
      assert.deepEqual(comparable(ownersOf(next)), comparable(outcome.owners), `${i}`)
      live = next
    }
    const names = [...ownersOf(live).values()].map(({ name }) => name)
    assert.equal(names.length, 10)
    assert.ok(names.includes('ancient-changes'))
  })

  async function forget(name: string, live: Json): Promise<void> {
    if (((live['metadata'] as Json)['finalizers'] ?? undefined) !== undefined) {
      await send('patch', name, { metadata: { finalizers: null } }, 'cleaner', false)
    }
    await cluster.request(`${PATH}/${name}`, { method: 'DELETE' })
  }

  function bodyOf(kind: Kind, name: string, live: Json | undefined): Json {
    const object = randomObject(name)
    switch (kind) {
      case 'put': {
        const { resourceVersion } = live?.['metadata'] as Json
        return { ...object, metadata: { ...(object['metadata'] as Json), resourceVersion } }
      }
      case 'patch': {
        const nulls = some(
          { metadata: () => some({ labels: () => null }), spec: () => some({ targetCluster: () => null }) },
          0.3,
        )
        return { metadata: randomMetadata(), ...some({ spec: randomSpec, status: randomStatus }), ...nulls }
      }
      case 'statusPatch':
        return { metadata: randomMetadata(), status: randomStatus() }
      default:
        return object
    }
  }

  interface Outcome {
    readonly owners: Owners
    readonly value: unknown
    readonly conflicts: string[]
  }

  function expected(
    kind: Kind,
    body: Json,
    stored: Json | undefined,
    manager: string,
    force: boolean,
    now = LATER,
  ): Outcome {
    const owners = stored === undefined ? new Map() : ownersOf(stored)
    const live = stored === undefined ? undefined : withoutOwners(stored)
    const blank = { apiVersion: API_VERSION, kind: 'Registry' }
    const isStatus = kind.startsWith('status')
    const context = (operation: Operation): OwnershipContext => ({
      shape: REGISTRY,
      blank,
      manager: { name: manager, operation, apiVersion: API_VERSION, subresource: isStatus ? 'status' : '' },
      reset: isStatus ? FieldSet.of(['f:metadata'], ['f:spec']) : FieldSet.of(['f:status']),
      now,
    })
    if (kind !== 'apply' && kind !== 'statusApply') {
      const next = kind === 'create' || kind === 'put' ? body : mergePatch(live, body, false)
      return {
        owners: ownersAfterUpdate(live, decoded(next), owners, context('Update')),
        value: undefined,
        conflicts: [],
      }
    }
    const result = applied(live, body, owners, context('Apply'), force)
    const conflicts = result.conflicts.flatMap(({ owner: { name, operation, subresource }, fields }) => {
      const who = `"${name}"${subresource === '' ? '' : ` with subresource "${subresource}"`}`
      const how = operation === 'Update' ? ` using ${API_VERSION}` : ''
      return [...fields.paths()].map((path) => `conflict with ${who}${how} ${pathText(path)}`)
    })
    return { owners: result.owners, value: isStatus ? undefined : (result.value ?? live ?? blank), conflicts }
  }
})

function ownersOf(object: Json): Owners {
  const owners = decodeOwners((object['metadata'] as Json)['managedFields'])
  assert.ok(owners !== undefined)
  return owners
}

function withoutOwners(object: Json): Json {
  const { managedFields: _, ...metadata } = object['metadata'] as Json
  return { ...object, metadata }
}

/** Metadata as Go reads and writes it: without what is empty. */
function decoded(object: unknown): Json {
  const { metadata, ...rest } = object as Json
  return {
    ...rest,
    metadata: Object.fromEntries(Object.entries(metadata as Json).filter(([, value]) => clean(value) !== undefined)),
  }
}

/** Without times, in one order. */
function comparable(owners: Owners): object[] {
  const entries = [...owners.values()].map((owner) => ({ ...owner, time: undefined }))
  return encodeOwners(new Map(entries.map((owner, i) => [String(i), owner]))) ?? []
}

/** What the client has a say in; null and absent are one for a kube-apiserver. */
function parts(object: unknown): unknown {
  const { metadata = {}, spec } = object as { metadata?: Json; spec?: unknown }
  const { labels, annotations, finalizers, ownerReferences } = metadata
  return clean({ labels, annotations, finalizers, ownerReferences, spec })
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const cleaned = clean(item)
    return cleaned === undefined ? [] : [[key, cleaned]]
  })
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Json)
}

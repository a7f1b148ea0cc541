import assert from 'node:assert/strict'
import { test } from 'node:test'
import { body, open, type Answer, type Api, type Json } from '../support/registry-api.ts'

const GROUP_VERSION = 'search.karmada.io/v1alpha1'

const config = (name: string, more: object): object => ({
  apiVersion: GROUP_VERSION,
  kind: 'ResourceRegistry',
  metadata: { name },
  ...more,
})

const apply = (api: Api, path: string, content: unknown): Promise<Answer> =>
  api.send('PATCH', path, content, { 'content-type': 'application/apply-patch+yaml' })

const pods = { resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] }
const nodes = { resourceSelectors: [{ apiVersion: 'v1', kind: 'Node' }] }

const managers = ({ body: { metadata } }: Answer): string[] =>
  metadata.managedFields.map(({ manager, operation, subresource }: Json) =>
    [manager, operation, subresource].filter(Boolean).join(' '),
  )

test('server-side apply creates, owns, and gives up what it no longer says', async () => {
  await using api = await open()
  const created = await apply(
    api,
    '/a?fieldManager=one',
    config('a', { spec: { ...pods, backendStore: { openSearch: { addresses: ['http://x'] } } } }),
  )
  assert.equal(created.status, 201)
  assert.deepEqual(managers(created), ['one Apply'])
  assert.equal(created.body.metadata.generation, 1)
  const again = await apply(
    api,
    '/a?fieldManager=one',
    config('a', { spec: { ...pods, backendStore: { openSearch: { addresses: ['http://x'] } } } }),
  )
  assert.equal(again.status, 200)
  assert.equal(again.body.metadata.resourceVersion, created.body.metadata.resourceVersion, 'nothing changed')
  const less = await apply(api, '/a?fieldManager=one', config('a', { spec: pods }))
  assert.deepEqual(less.body.spec, { targetCluster: {}, ...pods })
  assert.equal(less.body.metadata.generation, 2)
  const yaml = `apiVersion: ${GROUP_VERSION}\nkind: ResourceRegistry\nmetadata: {name: b}\nspec:\n  resourceSelectors: []\n`
  assert.equal((await apply(api, '/b?fieldManager=one', yaml)).status, 201)
})

test('fields of others are conflicts that name owner and field, until they are forced or agreed upon', async () => {
  await using api = await open()
  await apply(
    api,
    '/a?fieldManager=one',
    config('a', { metadata: { name: 'a', labels: { x: '1', y: '1' } }, spec: pods }),
  )
  await api.send(
    'PATCH',
    '/a?fieldManager=two',
    { metadata: { labels: { z: '1' } } },
    { 'content-type': 'application/merge-patch+json' },
  )
  const wanted = config('a', { metadata: { name: 'a', labels: { x: '2', z: '2' } }, spec: nodes })
  const conflict = await apply(api, '/a?fieldManager=three', wanted)
  assert.equal(conflict.status, 409)
  assert.deepEqual(conflict.body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: [
      'Apply failed with 3 conflicts: conflicts with "one":',
      '- .metadata.labels.x',
      '- .spec.resourceSelectors',
      `conflicts with "two" using ${GROUP_VERSION}:`,
      '- .metadata.labels.z',
    ].join('\n'),
    reason: 'Conflict',
    details: {
      causes: [
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.metadata.labels.x' },
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.resourceSelectors' },
        {
          reason: 'FieldManagerConflict',
          message: `conflict with "two" using ${GROUP_VERSION}`,
          field: '.metadata.labels.z',
        },
      ],
    },
    code: 409,
  })
  const one = await apply(api, '/a?fieldManager=three', config('a', { spec: nodes }))
  assert.equal(one.body.message, 'Apply failed with 1 conflict: conflict with "one": .spec.resourceSelectors')
  assert.equal(
    (await apply(api, '/a?fieldManager=three', config('a', { spec: pods }))).status,
    200,
    'both want the same',
  )
  const forced = await apply(api, '/a?fieldManager=three&force=true', wanted)
  assert.deepEqual(forced.body.metadata.labels, { x: '2', y: '1', z: '2' })
  assert.deepEqual(forced.body.spec.resourceSelectors, nodes.resourceSelectors)
  const gone = await apply(api, '/a?fieldManager=one', config('a', {}))
  assert.deepEqual(gone.body.metadata.labels, { x: '2', z: '2' }, 'y had one owner')
})

test('status and main resource have owners of their own', async () => {
  await using api = await open()
  const conditions = [
    { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-30T00:00:00Z', reason: 'x', message: '' },
  ]
  const all = config('a', { spec: pods, status: { conditions } })
  assert.equal((await apply(api, '/a/status?fieldManager=s', all)).status, 404)
  assert.deepEqual((await apply(api, '/a?fieldManager=m', all)).body.status, {})
  const ofStatus = await apply(api, '/a/status?fieldManager=s', config('a', { spec: nodes, status: { conditions } }))
  assert.deepEqual(ofStatus.body.status, { conditions })
  assert.deepEqual(ofStatus.body.spec.resourceSelectors, pods.resourceSelectors)
  assert.deepEqual(managers(ofStatus), ['m Apply', 's Apply status'])
  const other = await apply(api, '/a/status?fieldManager=t', config('a', { status: { conditions: [] } }))
  assert.match(other.body.message, /conflict with "s" with subresource "status": \.status\.conditions$/)
})

test('an apply that cannot be one is told why', async () => {
  await using api = await open()
  const code = async (path: string, content: unknown): Promise<number> => (await apply(api, path, content)).status
  const good = config('a', { spec: pods })
  assert.equal(await code('/a', good), 422, 'no fieldManager')
  assert.equal(await code(`/a?fieldManager=${'x'.repeat(129)}`, good), 422)
  assert.equal(await code('/a?fieldManager=a%0Ab', good), 422)
  assert.equal(await code('/b?fieldManager=one', good), 400, 'another name than the path’s')
  assert.equal(await code('/a?fieldManager=one', { ...good, apiVersion: 'v1' }), 400)
  assert.equal(await code('/a?fieldManager=one', { ...good, kind: undefined }), 400)
  assert.equal(await code('/a?fieldManager=one', [good]), 400)
  assert.equal(await code('/a?fieldManager=one', config('a', { spec: { nonsense: 1 } })), 400)
  assert.equal(await code('/a?fieldManager=one', config('a', { metadata: { name: 'a', managedFields: [] } })), 400)
  assert.equal(await code('/a?fieldManager=one', config('a', { metadata: { name: 'a', uid: 'x' } })), 409)
  assert.equal(await code('/a?fieldManager=one', config('a', { metadata: { name: 'a', resourceVersion: '1' } })), 409)
  assert.equal(await code('/a?fieldManager=one', config('a', { spec: { resourceSelectors: [{ kind: '' }] } })), 422)
  const twice =
    '{"apiVersion":"search.karmada.io/v1alpha1","kind":"ResourceRegistry","metadata":{"name":"a","name":"a"}}'
  assert.equal(await code('/a?fieldManager=one&fieldValidation=Strict', twice), 400)
  assert.equal((await api.send('GET', '/a')).status, 404, 'nothing of it was done')
  assert.equal(await code('/a?fieldManager=one&dryRun=All', good), 201)
  assert.equal((await api.send('GET', '/a')).status, 404)
  const merge = { 'content-type': 'application/merge-patch+json' }
  assert.equal((await api.send('PATCH', '/a?force=true', {}, merge)).status, 422)
})

test('owners can be written by a client that knows of them, and forgotten', async () => {
  await using api = await open()
  const created = await api.send('POST', '?fieldManager=one', body('a', { labels: { x: '1' } }))
  assert.deepEqual(managers(created), ['one Update'])
  const [entry] = created.body.metadata.managedFields
  const patch = (operations: object[]): Promise<Answer> =>
    api.send('PATCH', '/a?fieldManager=two', operations, { 'content-type': 'application/json-patch+json' })
  const renamed = await patch([
    { op: 'replace', path: '/metadata/managedFields', value: [{ ...entry, manager: 'other' }] },
  ])
  assert.deepEqual(managers(renamed), ['other Update'])
  const kept = await api.send('PUT', '/a?fieldManager=two', body('a', { labels: { x: '2' } }))
  assert.deepEqual(managers(kept), ['other Update', 'two Update'])
  const reset = await patch([{ op: 'replace', path: '/metadata/managedFields', value: [{}] }])
  assert.equal(reset.body.metadata.managedFields, undefined)
  const applied = await apply(api, '/a?fieldManager=three', config('a', { spec: nodes }))
  assert.match(applied.body.message, /conflict with "before-first-apply"/)
})

test('a client that gives no name is known by its User-Agent', async () => {
  await using api = await open()
  const created = await api.send('POST', '', body('a'), { 'user-agent': 'kubectl/v1.36.3 (linux/amd64) kubernetes/x' })
  assert.deepEqual(managers(created), ['kubectl Update'])
})

test('JSON patches change what they say, test what they say, and are checked as every write', async () => {
  await using api = await open()
  await api.send('POST', '', body('a', { labels: { x: '1' } }))
  const patch = (operations: unknown, query = ''): Promise<Answer> =>
    api.send('PATCH', `/a${query}`, operations, { 'content-type': 'application/json-patch+json' })
  const done = await patch([
    { op: 'test', path: '/metadata/labels/x', value: '1' },
    { op: 'remove', path: '/metadata/labels' },
    { op: 'add', path: '/spec/resourceSelectors/0', value: { apiVersion: 'v1', kind: 'Node' } },
  ])
  assert.equal(done.status, 200)
  assert.equal(done.body.metadata.labels, undefined)
  assert.deepEqual(
    done.body.spec.resourceSelectors.map(({ kind }: Json) => kind),
    ['Node', 'Pod'],
  )
  const failed = await patch([{ op: 'test', path: '/metadata/labels/x', value: '1' }])
  assert.equal(failed.status, 422)
  assert.match(failed.body.message, /^operation 0 of the JSON patch/)
  assert.equal((await patch([{ op: 'replace', path: '/spec/resourceSelectors/0/kind', value: '' }])).status, 422)
  assert.equal((await patch([{ op: 'replace', path: '/metadata/name', value: 'b' }])).status, 400)
  assert.equal((await patch({})).status, 400)
  const unknown = [{ op: 'add', path: '/spec/nonsense', value: 1 }]
  assert.equal((await patch(unknown, '?fieldValidation=Strict')).status, 400)
  assert.equal((await patch(unknown)).headers.get('warning'), '299 - "unknown field \\"spec.nonsense\\""')
})

test('a deletion leaves the finalizers that its propagation asks for', async () => {
  await using api = await open()
  for (const [name, propagationPolicy, finalizers] of [
    ['f', 'Foreground', ['foregroundDeletion']],
    ['o', 'Orphan', ['orphan']],
  ] as const) {
    await api.send('POST', '', body(name))
    const { body: held } = await api.send('DELETE', `/${name}`, { kind: 'DeleteOptions', propagationPolicy })
    assert.deepEqual(held.metadata.finalizers, finalizers)
    assert.equal(held.metadata.deletionTimestamp, '2026-11-30T00:00:00Z')
    assert.equal((await api.send('DELETE', `/${name}?propagationPolicy=Background`)).body.status, 'Success')
    assert.equal((await api.send('GET', `/${name}`)).status, 404)
  }
  await api.send('POST', '', body('a'))
  assert.equal((await api.send('DELETE', '/a?propagationPolicy=Sideways')).status, 422)
  assert.equal((await api.send('DELETE', '/a', { orphanDependents: true, propagationPolicy: 'Orphan' })).status, 422)
})

test('keys that stand twice are refused when strict, else warned about', async () => {
  await using api = await open()
  const twice = '{"metadata":{"name":"a"},"spec":{"targetCluster":{},"resourceSelectors":[],"resourceSelectors":[]}}'
  const strict = await api.send('POST', '?fieldValidation=Strict', twice)
  assert.equal(strict.status, 400)
  assert.match(strict.body.message, /duplicate field "spec\.resourceSelectors"/)
  const warned = await api.send('POST', '', twice)
  assert.equal(warned.headers.get('warning'), '299 - "duplicate field \\"spec.resourceSelectors\\""')
  const yaml = { 'content-type': 'application/yaml' }
  const text = 'metadata: {name: b}\nspec:\n  targetCluster: {}\n  resourceSelectors: []\n  resourceSelectors: []\n'
  assert.match((await api.send('POST', '?fieldValidation=Strict', text, yaml)).body.message, /line 5/)
  assert.equal((await api.send('POST', '', text, yaml)).status, 201)
  assert.equal((await api.send('POST', '', '{', { ...yaml })).status, 400)
  assert.equal((await api.send('POST', '', '['.repeat(100_000) + ']'.repeat(100_000))).status, 400)
})

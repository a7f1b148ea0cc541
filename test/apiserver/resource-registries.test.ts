import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition } from '../../src/api/resource-registry.ts'
import { until } from '../support/fake-clock.ts'
import { body, LOCATION, open, type Answer, type Api, type Json } from '../support/registry-api.ts'
import { readTranscripts } from '../support/transcripts.ts'

const TABLE =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

test('create, get, list and delete answer in the original’s shapes', async () => {
  await using api = await open()
  const created = await api.send('POST', '', body('all'))
  assert.equal(created.status, 201)
  const { metadata } = created.body
  assert.deepEqual(created.body, {
    kind: 'ResourceRegistry',
    apiVersion: 'search.karmada.io/v1alpha1',
    metadata: {
      name: 'all',
      uid: '3174c7c9-1fcf-4466-b582-421ab1950d0e',
      resourceVersion: metadata.resourceVersion,
      generation: 1,
      creationTimestamp: '2026-11-30T00:00:00Z',
      managedFields: [
        {
          manager: 'node',
          operation: 'Update',
          apiVersion: 'search.karmada.io/v1alpha1',
          time: '2026-11-30T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:spec': { 'f:resourceSelectors': {} } },
        },
      ],
    },
    spec: { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] },
    status: {},
  })
  const got = await api.send('GET', '/all')
  assert.deepEqual(got.body, created.body)
  assert.equal(got.headers.get('content-type'), 'application/json')
  assert.equal(got.headers.get('cache-control'), 'no-cache, private')
  assert.deepEqual((await api.send('GET', '/all/status')).body, created.body)

  const { spec, status } = created.body
  assert.deepEqual((await api.send('GET')).body, {
    kind: 'ResourceRegistryList',
    apiVersion: 'search.karmada.io/v1alpha1',
    metadata: { resourceVersion: metadata.resourceVersion },
    items: [{ metadata, spec, status }],
  })
  assert.deepEqual((await api.send('DELETE', '/all')).body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'all', group: 'search.karmada.io', kind: 'resourceregistries', uid: metadata.uid },
  })
  const { message, ...absent } = (await api.send('GET', '/all')).body
  assert.equal(message, 'resourceregistries.search.karmada.io "all" not found')
  assert.deepEqual(absent, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'NotFound',
    details: { name: 'all', group: 'search.karmada.io', kind: 'resourceregistries' },
    code: 404,
  })
})

test('C9: an invalid registry is 422 with every fault; unknown fields are 400 when strict, else warned about and dropped', async () => {
  await using api = await open()
  const invalid = await api.send('POST', '', {
    metadata: { name: 'Bad_Name' },
    spec: { resourceSelectors: [{ apiVersion: 'a/b/c', kind: 'Pod', namespace: 'Bad_NS' }] },
  })
  assert.equal(invalid.status, 422)
  assert.deepEqual(
    invalid.body.details.causes.map(({ reason, field }: Json) => [reason, field]),
    [
      ['FieldValueInvalid', 'metadata.name'],
      ['FieldValueInvalid', 'spec.resourceSelectors[0].apiVersion'],
      ['FieldValueInvalid', 'spec.resourceSelectors[0].namespace'],
    ],
  )
  const unknown = { metadata: { name: 'x' }, spec: { targetClusters: {}, targetCluster: {}, resourceSelectors: [] } }
  const strict = await api.send('POST', '?fieldValidation=Strict&dryRun=All', unknown)
  assert.equal(strict.status, 400)
  assert.equal(strict.body.reason, 'BadRequest')
  assert.match(strict.body.message, /unknown field "spec\.targetClusters"/)
  const warned = await api.send('POST', '', unknown)
  assert.equal(warned.status, 201)
  assert.equal(warned.headers.get('warning'), '299 - "unknown field \\"spec.targetClusters\\""')
  assert.equal(
    (await api.send('POST', '?fieldValidation=Ignore', { ...unknown, metadata: { name: 'y' } })).headers.get('warning'),
    null,
  )
  assert.equal((await api.send('POST', '?fieldValidation=Loud', unknown)).status, 422)
})

test('a Table has our columns, and metadata alone can be had', async () => {
  await using api = await open()
  await api.send('POST', '', body('all'))
  await api.clock.advance(300_000)
  const table = (await api.send('GET', '', undefined, { accept: TABLE })).body
  assert.equal(table.kind, 'Table')
  assert.deepEqual(
    table.columnDefinitions.map(({ name }: Json) => name),
    ['Name', 'Clusters', 'Resources', 'Objects', 'Backend', 'Ready', 'Age'],
  )
  assert.deepEqual(table.rows[0].cells, ['all', 3, 2, 1_234, 'embedded', 'Unknown', '5m'])
  assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata')
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
  const partial = (await api.send('GET', '', undefined, { accept })).body
  assert.equal(partial.kind, 'PartialObjectMetadataList')
  assert.deepEqual(Object.keys(partial.items[0]).sort(), ['apiVersion', 'kind', 'metadata'])
  const yaml = await api.send('GET', '/all', undefined, { accept: 'application/yaml' })
  assert.match(yaml.body, /^kind: ResourceRegistry$/m)
  assert.equal((await api.send('GET', '', undefined, { accept: 'application/vnd.kubernetes.protobuf' })).status, 406)
})

test('PUT is conditional where it names a version; main resource and status are kept apart', async () => {
  await using api = await open()
  const { metadata } = (await api.send('POST', '', body('a'))).body
  const condition: Condition = {
    type: 'Ready',
    status: 'True',
    lastTransitionTime: '2026-11-30T00:00:00Z',
    reason: 'Synced',
    message: '',
  }
  const status = { conditions: [condition] }
  const emptied = { ...body('a'), spec: { targetCluster: {}, resourceSelectors: [] }, status }
  const stale = { ...emptied, metadata }
  const first = await api.send('PUT', '/a', emptied)
  assert.equal(first.status, 200)
  assert.equal(first.body.metadata.generation, 2)
  assert.deepEqual(first.body.status, {})
  const conflict = await api.send('PUT', '/a', stale)
  assert.equal(conflict.status, 409)
  assert.equal(conflict.body.reason, 'Conflict')
  const ofStatus = await api.send('PUT', '/a/status', { ...body('a', { labels: { x: 'y' } }), status })
  assert.deepEqual(ofStatus.body.spec.resourceSelectors, [])
  assert.equal(ofStatus.body.metadata.labels, undefined)
  assert.deepEqual(ofStatus.body.status, status)
  const table = (await api.send('GET', '/a', undefined, { accept: TABLE })).body
  assert.equal(table.rows[0].cells[5], 'True')
  assert.equal((await api.send('PUT', '/b', emptied)).status, 400, 'another name than the path’s')
  assert.equal((await api.send('PUT', '/b', body('b'))).status, 404)
})

test('kubectl apply, label and patch: merge and strategic merge patches', async () => {
  await using api = await open()
  await api.send('POST', '', body('a', { labels: { x: '1', y: '2' } }))
  const patch = (content: unknown, kind: string, query = ''): Promise<Answer> =>
    api.send('PATCH', `/a${query}`, content, { 'content-type': `application/${kind}+json` })
  const merged = await patch({ metadata: { labels: { x: null, z: '3' } } }, 'merge-patch')
  assert.deepEqual(merged.body.metadata.labels, { y: '2', z: '3' })
  const replaced = await patch(
    {
      metadata: { labels: { $patch: 'replace', only: 'one' } },
      spec: { $retainKeys: ['targetCluster'], resourceSelectors: [{ apiVersion: 'v1', kind: 'Node' }] },
    },
    'strategic-merge-patch',
  )
  assert.deepEqual(replaced.body.metadata.labels, { only: 'one' })
  assert.deepEqual(replaced.body.spec.resourceSelectors, [{ apiVersion: 'v1', kind: 'Node' }], 'lists are atomic')
  assert.equal(replaced.body.metadata.generation, 2)
  assert.equal((await patch({ spec: { resourceSelectors: [{ kind: '' }] } }, 'merge-patch')).status, 422)
  assert.equal((await patch({ metadata: { resourceVersion: '1' } }, 'merge-patch')).status, 409)
  assert.equal((await patch({ metadata: { name: 'b' } }, 'merge-patch')).status, 400)
  assert.equal((await patch({ metadata: { labels: { q: '' } } }, 'other')).status, 415)
  const dry = await patch({ metadata: { labels: { dry: 'run' } } }, 'merge-patch', '?dryRun=All')
  assert.equal(dry.body.metadata.labels.dry, 'run')
  assert.equal((await api.send('GET', '/a')).body.metadata.labels.dry, undefined)
  assert.equal((await patch({ metadata: { labels: null } }, 'merge-patch')).body.metadata.labels, undefined)
})

test('bodies that cannot be read and methods that are not there are told so', async () => {
  await using api = await open()
  const code = async (...args: Parameters<Api['send']>): Promise<number> => (await api.send(...args)).status
  assert.equal(await code('POST', '', '{"metadata":'), 400)
  assert.equal(await code('POST', '', 'null'), 400)
  assert.equal(await code('POST', '', { kind: 'Pod', apiVersion: 'v1' }), 400)
  assert.equal(await code('POST', '', body('a', { resourceVersion: '7' })), 400)
  assert.equal(await code('POST', '', 'k8s', { 'content-type': 'application/vnd.kubernetes.protobuf' }), 415)
  assert.equal(await code('POST', '', body('a', { annotations: { big: 'x'.repeat(3_200_000) } })), 413)
  assert.equal(await code('PUT', ''), 405)
  assert.equal(await code('POST', '/a', body('a')), 405)
  assert.equal(await code('GET', '/a/scale'), 404)
  assert.equal(await code('POST', '?dryRun=Some', body('a')), 422)
  const accept = { accept: 'application/vnd.kubernetes.protobuf' }
  assert.equal(await code('POST', '', body('a'), accept), 406)
  assert.equal(await code('GET', '/a'), 404, 'what could not be answered was not done')
  const yaml = 'metadata: {name: from-yaml}\nspec:\n  targetCluster: {}\n  resourceSelectors: []\n'
  assert.equal(await code('POST', '', yaml, { 'content-type': 'application/yaml' }), 201)
  assert.equal(await code('POST', '', body('from-yaml')), 409)
})

test('lists select, page by name and know their versions', async () => {
  await using api = await open()
  for (const name of ['c', 'a', 'd', 'b'])
    await api.send('POST', '', body(name, { labels: { even: String('bd'.includes(name)) } }))
  const names = (answer: Answer): string[] => answer.body.items.map(({ metadata }: Json) => metadata.name)
  const list = (query: string): Promise<Answer> => api.send('GET', `?${query}`)
  assert.deepEqual(names(await list('labelSelector=even%3Dtrue')), ['b', 'd'])
  assert.deepEqual(names(await list('fieldSelector=metadata.name!%3Da')), ['b', 'c', 'd'])
  assert.equal((await list('fieldSelector=spec.x%3D1')).status, 400)
  assert.equal((await list('labelSelector=%21%21')).status, 400)

  const first = await list('limit=3')
  assert.deepEqual(names(first), ['a', 'b', 'c'])
  assert.equal(first.body.metadata.remainingItemCount, 1)
  const version = first.body.metadata.resourceVersion
  await api.send('POST', '', body('e'))
  await api.send('DELETE', '/a')
  const second = await list(`limit=3&continue=${first.body.metadata.continue}`)
  assert.deepEqual(names(second), ['d', 'e'])
  assert.equal(second.body.metadata.resourceVersion, version, 'a watch from the first page brings what changed since')
  assert.equal(second.body.metadata.continue, undefined)
  assert.equal((await list('continue=nonsense')).status, 400)

  const future = await list('resourceVersion=99999999999999')
  assert.equal(future.status, 504)
  assert.equal(future.body.details.causes[0].reason, 'ResourceVersionTooLarge')
  assert.equal((await list(`resourceVersion=${version}&resourceVersionMatch=Exact`)).status, 410)
  assert.equal((await list(`resourceVersion=${version}`)).status, 200)
  assert.equal((await list('resourceVersion=abc')).status, 400)
})

test('delete takes preconditions and dry runs; a collection is deleted by selector', async () => {
  await using api = await open()
  for (const name of ['a', 'b', 'c']) await api.send('POST', '', body(name, { labels: { keep: String(name === 'c') } }))
  assert.equal((await api.send('DELETE', '/a', { preconditions: { uid: 'other' } })).status, 409)
  assert.equal((await api.send('DELETE', '/a', { kind: 'DeleteOptions', dryRun: ['All'] })).status, 200)
  assert.equal((await api.send('DELETE', '/a', { kind: 'Pod' })).status, 400)
  const deleted = await api.send('DELETE', '?labelSelector=keep%3Dfalse')
  assert.deepEqual(
    deleted.body.items.map(({ metadata }: Json) => metadata.name),
    ['a', 'b'],
  )
  assert.equal((await api.send('GET')).body.items.length, 1)
  await api.send('POST', '', body('held', { finalizers: ['example.com/x'] }))
  const held = await api.send('DELETE', '/held')
  assert.equal(held.body.kind, 'ResourceRegistry')
  assert.notEqual(held.body.metadata.deletionTimestamp, undefined)
})

test('B5: a watch with sendInitialEvents begins with what is there and a bookmark that ends it, for each kind of start', async () => {
  await using api = await open()
  await api.send('POST', '', body('a'))
  const { resourceVersion } = (await api.send('POST', '', body('b'))).body.metadata
  const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  for (const start of ['', '&resourceVersion=0', `&resourceVersion=${resourceVersion}`]) {
    const watch = await api.watch(query + start)
    await until(() => watch.events.length === 3)
    assert.deepEqual(
      watch.events.map(({ type, object }) => [type, object.metadata.name]),
      [
        ['ADDED', 'a'],
        ['ADDED', 'b'],
        ['BOOKMARK', undefined],
      ],
    )
    assert.deepEqual(watch.events[2]?.object.metadata, {
      resourceVersion,
      annotations: { 'k8s.io/initial-events-end': 'true' },
    })
    watch.stop()
    await watch.ended
  }
  // What cannot be served is refused, not ignored.
  assert.equal((await api.send('GET', '?watch=true&sendInitialEvents=true')).status, 422)
  const future = await api.send('GET', `?watch=true&${query}&resourceVersion=99999999999999`)
  assert.equal(future.status, 504)
})

test('a watch follows from its version, with selectors, and says DELETED and ADDED where a selection is left or entered', async () => {
  await using api = await open()
  const a = (await api.send('POST', '', body('a', { labels: { team: 'x' } }))).body
  const { resourceVersion } = a.metadata
  const watch = await api.watch(`resourceVersion=${resourceVersion}&labelSelector=team%3Dx`)
  const relabel = (team: string): Promise<Answer> =>
    api.send('PATCH', '/a', { metadata: { labels: { team } } }, { 'content-type': 'application/merge-patch+json' })
  const left = (await relabel('y')).body
  await relabel('z')
  const back = (await relabel('x')).body
  await api.send('DELETE', '/a')
  await until(() => watch.events.length === 3)
  assert.deepEqual(
    watch.events.map(({ type }) => type),
    ['DELETED', 'ADDED', 'DELETED'],
  )
  const leaving = watch.events[0]?.object
  assert.deepEqual(leaving.metadata.labels, { team: 'x' }, 'the last state that was selected')
  assert.equal(leaving.metadata.resourceVersion, left.metadata.resourceVersion, 'and the version to resume from')
  assert.deepEqual(watch.events[1]?.object, back)
  watch.stop()
  await watch.ended
  const resumed = await api.watch(`resourceVersion=${back.metadata.resourceVersion}`)
  await until(() => resumed.events.length === 1)
  assert.equal(resumed.events[0]?.type, 'DELETED')
  resumed.stop()
  await resumed.ended
})

test('a watch bookmarks each minute where asked, ends at its time, and a version that is gone is an ERROR 410', async () => {
  await using api = await open()
  const { resourceVersion } = (await api.send('POST', '', body('a'))).body.metadata
  const watch = await api.watch(`resourceVersion=${resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=150`)
  const unasked = await api.watch(`resourceVersion=${resourceVersion}&timeoutSeconds=150`)
  await api.clock.advance(149_000)
  await until(() => watch.events.length === 2)
  assert.deepEqual(
    watch.events.map(({ type, object }) => [type, object.metadata.resourceVersion]),
    [
      ['BOOKMARK', resourceVersion],
      ['BOOKMARK', resourceVersion],
    ],
  )
  await api.clock.advance(1_000)
  await Promise.all([watch.ended, unasked.ended])
  assert.deepEqual(unasked.events, [])
  const gone = await api.watch('resourceVersion=1')
  await gone.ended
  assert.equal(gone.events[0]?.type, 'ERROR')
  assert.equal(gone.events[0]?.object.code, 410)
  assert.equal(gone.events[0]?.object.reason, 'Expired')
})

test('a watch as Tables declares its columns once', async () => {
  await using api = await open()
  await api.send('POST', '', body('a'))
  await api.send('POST', '', body('b'))
  const watch = await api.watch('', { accept: TABLE })
  await until(() => watch.events.length === 2)
  const [first, second] = watch.events
  assert.equal(first?.object.kind, 'Table')
  assert.equal(first?.object.columnDefinitions.length, 7)
  assert.equal(second?.object.columnDefinitions, null)
  assert.equal(second?.object.rows[0].cells[0], 'b')
  watch.stop()
  await watch.ended
})

/**
 * What differs from the original on purpose, or by the run: versions, uids and times; `generation` is ours; owners have
 * the names of other clients; texts of errors were left out of the transcripts; a Table has our columns.
 */
function comparable(value: Json): Json {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const left = ['resourceVersion', 'uid', 'creationTimestamp', 'time', 'generation', 'manager', 'message']
  const entries = Object.entries(value as object).filter(([key]) => !left.includes(key))
  return Object.fromEntries(entries.map(([key, each]) => [key, comparable(each)]))
}

test('transcripts of the original: every answer about registries has its status, type and shape', async () => {
  const transcripts = readTranscripts().filter(({ id }) => id.startsWith('rr-'))
  assert.equal(transcripts.length, 7)
  await using api = await open()
  const spec = transcripts.find(({ id }) => id === 'rr-get')?.response.body.spec
  await api.send('POST', '', { metadata: { name: 'all' }, spec })
  for (const { id, path, method = 'GET', headers = {}, body: sent, response } of transcripts) {
    const answer = await api.send(method, path.slice(LOCATION.length), sent, headers)
    assert.equal(answer.status, response.status, id)
    for (const header of ['content-type', 'cache-control']) {
      assert.equal(answer.headers.get(header), response.headers[header], `${id}: ${header}`)
    }
    const [ours, theirs] = [comparable(answer.body), comparable(response.body)]
    if (id !== 'rr-table') assert.deepEqual(ours, theirs, id)
    else {
      assert.equal(ours.kind, theirs.kind)
      assert.deepEqual(ours.rows[0].object, theirs.rows[0].object)
      assert.equal(ours.rows[0].cells[0], theirs.rows[0].cells[0])
    }
  }
})

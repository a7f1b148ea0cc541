/**
 * What a running karmada-search answered, asked again of us. Every answer equals the original's but for the differences
 * listed here, each with its reason; what belongs to other rooms (registries, discovery of our own API, the control
 * plane's answers) is listed too, and replayed in their tests.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { settle } from '../support/fake-clock.ts'
import { readTranscripts, type Transcript } from '../support/transcripts.ts'
import { Loopback } from '../http/loopback.ts'
import { fleetApi } from './api-fixture.ts'
import type { TestObject } from './fleet-fixture.ts'
import { decodeToken, fixture, NODES, PODS, TestFleet, token } from './fleet-fixture.ts'
import { listingClient, MemberWorld, served } from './member-fixture.ts'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

const BOTH = token({ member0: '1008', member1: '1008' })

const OTHER_ROOMS: Readonly<Record<string, string>> = {
  'own-discovery': 'apiserver: discovery of our own API',
  group: 'apiserver',
  groups: 'apiserver',
  'rr-list': 'registry',
  'rr-get': 'registry',
  'rr-get-404': 'registry',
  'rr-table': 'registry',
  'rr-status': 'registry',
  'rr-invalid': 'registry',
  'rr-unknown-field-strict': 'registry',
  opensearch: 'search: its engine endpoints',
  'search-other': 'apiserver: no such endpoint',
  'proxy-host-version': 'the control plane answers: plugins/karmada.test.ts',
  'proxy-host-ns': 'the control plane answers: plugins/karmada.test.ts',
}

/** A difference to the original that is meant: what its answer would have to be to equal ours, and why. */
interface Difference {
  readonly why: string
  readonly status?: number
  readonly body?: (original: Json, ours: Json) => Json
}

const statusOf = (code: number, reason: string, details?: Json) => (): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  reason,
  ...(details === undefined ? {} : { details }),
  code,
})

const unsupported: Difference = {
  why: 'a path that search/cache does not serve is the client’s fault, not ours (500)',
  status: 400,
  body: statusOf(400, 'BadRequest'),
}

/** The original is alone with a verb under apiVersion. */
const realVersion = (original: Json): Json => ({ ...original, apiVersion: 'v1' })

const page =
  (continueAt: { cluster: string; continue: string }, remaining: number) =>
  (original: Json): Json => ({
    ...original,
    metadata: {
      resourceVersion: BOTH,
      continue: token({ rv: BOTH, ...continueAt }),
      remainingItemCount: remaining, // the original counts one cluster
    },
  })

const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'cache-label-bad': {
    why: 'errors are a Status, whose message also stands under error',
    body: statusOf(400, 'BadRequest'),
  },
  'cache-limit-bad': {
    why: 'errors are a Status, whose message also stands under error',
    body: statusOf(400, 'BadRequest'),
  },
  'cache-limit': {
    why: 'the original ignores limit',
    body: (original) => ({
      ...original,
      metadata: {
        continue: token({ rv: BOTH, cluster: 'member0', continue: 'after:team-1/api-5dd8089294-aea1' }),
        remainingItemCount: 10,
      },
      items: original.items.slice(0, 2),
    }),
  },
  'cache-unknown': {
    why: 'nobody has ever served it: 404, not 500',
    status: 404,
    body: statusOf(404, 'NotFound', { group: 'no.such', kind: 'things' }),
  },
  'cache-sub': unsupported,
  'cache-root': unsupported,
  'cache-table': {
    why: 'search/cache has no Tables in the original',
    body: (_original, ours) => {
      assert.equal(ours.kind, 'Table')
      assert.equal(ours.rows.length, 12)
      return ours
    },
  },
  'proxy-limit': {
    why: 'positions are ours; remainingItemCount counts all clusters',
    body: page({ cluster: 'member0', continue: 'after:team-3/worker-6700bc13b8-3b23' }, 8),
  },
  'proxy-continue': {
    why: 'positions are ours (the request goes on from our own page); remainingItemCount on every page',
    body: page({ cluster: 'member1', continue: 'after:team-1/api-5dd8089294-1fd1' }, 4),
  },
  'proxy-continue-gone-cluster': {
    why: 'a continue token of a cluster that left ends silently in the original',
    status: 410,
    body: () => ({
      ...statusOf(410, 'Expired')(),
      metadata: { continue: token({ rv: BOTH, cluster: 'member0' }) },
    }),
  },
  'proxy-field-node': {
    why: 'the original answers an empty list to spec.nodeName',
    body: (original, ours) => {
      assert.ok(ours.items.length > 0)
      for (const item of ours.items) assert.equal(item.spec.nodeName, 'member0-node-0')
      return { ...original, items: ours.items }
    },
  },
  'proxy-table': {
    why: 'our columns are those of a real API server',
    body: (original, ours) => {
      assert.deepEqual(
        ours.columnDefinitions.filter(({ priority }: Json) => priority === 0).map(({ name }: Json) => name),
        ['Name', 'Ready', 'Status', 'Restarts', 'Age'],
      )
      const rows = original.rows.map((row: Json, i: number) => ({ ...ours.rows[i], object: row.object }))
      return { ...original, columnDefinitions: ours.columnDefinitions, rows }
    },
  },
  'proxy-proto-json': {
    why: 'positions are ours; remainingItemCount counts all clusters',
    body: page({ cluster: 'member0', continue: 'after:team-0/web-44a1f3faea-f5f0' }, 11),
  },
  'proxy-rv-future': {
    why: 'a version from the future is a 504 that clients know how to treat, not an older list',
    status: 504,
    body: statusOf(504, 'Timeout', {
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge' }],
    }),
  },
  'proxy-rv-exact': {
    why: 'read from the members, whose own positions stand in the token; they count nothing here',
    body: (original, ours) => {
      const position = decodeToken(ours.metadata.continue) as Json
      assert.equal(position.rv, BOTH)
      assert.equal(position.cluster, 'member0')
      const { remainingItemCount: _, ...metadata } = original.metadata
      return { ...original, metadata: { ...metadata, continue: ours.metadata.continue } }
    },
  },
  'proxy-create': { why: 'a verb stands under apiVersion in the original', body: realVersion },
  'proxy-delete-twin': { why: 'a verb stands under apiVersion in the original', body: realVersion },
  'proxy-log-absent': { why: 'a verb stands under apiVersion in the original', body: realVersion },
  'watch-empty': {
    why: 'clusters in order; maps say of a cluster only what has been delivered whole',
    body: inClusterOrder,
  },
  'watch-initial': {
    why: 'one end bookmark with the whole map, where the original sends one for each cluster',
    body: (original, ours) => {
      const end = {
        type: 'BOOKMARK',
        object: {
          kind: 'Node',
          apiVersion: 'v1',
          metadata: { resourceVersion: BOTH, annotations: { 'k8s.io/initial-events-end': 'true' } },
        },
      }
      const added = original.filter(({ type }: Json) => type === 'ADDED')
      return [...inClusterOrder(added, ours), end]
    },
  },
  'watch-future': {
    why: 'after 5 s a watch from the future ends with ERROR 410; the original stays silent for ever',
    body: () => [{ type: 'ERROR', object: statusOf(410, 'Expired')() }],
  },
}

function inClusterOrder(original: Json, ours: Json): Json {
  const clusterOf = (event: Json): string =>
    event.object.metadata.annotations['resource.karmada.io/cached-from-cluster']
  const key = (event: Json): string => `${clusterOf(event)}/${event.object.metadata.name}`
  return original
    .toSorted((a: Json, b: Json) => (key(a) < key(b) ? -1 : 1))
    .map((event: Json, i: number) => {
      const { resourceVersion } = ours[i].object.metadata
      const map = decodeToken(resourceVersion) as Record<string, string>
      assert.ok(clusterOf(event) in map, 'the map names the cluster of its event')
      return {
        ...event,
        object: { ...event.object, metadata: { ...event.object.metadata, resourceVersion } },
      }
    })
}

const fleet = new TestFleet().register(PODS, 'Pod', true).register(NODES, 'Node', false)
let loopback: Loopback
const members = new MemberWorld(fleet.clock)

before(async () => {
  for (const name of ['member0', 'member1']) {
    const pods = fixture<{ items: TestObject[] }>(`members/${name}-pods.json`).items
    const nodes = fixture<{ items: TestObject[] }>(`members/${name}-nodes.json`).items
    fleet.shard(name, PODS, 'Pod', true).list(pods, 1008)
    fleet.shard(name, NODES, 'Node', false).list(nodes, 1008)
    const lists = {
      '/api/v1/pods': { kind: 'PodList', items: pods },
      '/api/v1/nodes': { kind: 'NodeList', items: nodes },
    }
    const resources = [served('pods', 'Pod'), served('nodes', 'Node', { namespaced: false })]
    members.engage(name, listingClient(lists, 1008), resources)
  }
  fleet.knownResources.push({ group: '', version: 'v1', resource: 'services', kind: 'Service', namespaced: true })
  loopback = await Loopback.start(fleetApi(fleet, members))
})

after(async () => {
  await loopback.close()
  await members.close()
  fleet.close()
})

const transcripts = readTranscripts()

test('the transcripts are all accounted for', () => {
  assert.equal(transcripts.length, 53)
  const ids = new Set(transcripts.map(({ id }) => id))
  for (const id of [...Object.keys(OTHER_ROOMS), ...Object.keys(DIFFERENCES)]) assert.ok(ids.has(id), id)
})

for (const transcript of transcripts) {
  if (transcript.id in OTHER_ROOMS) continue
  const difference = DIFFERENCES[transcript.id]
  const title = difference === undefined ? 'the same' : `ours: ${difference.why}`
  test(`transcript ${transcript.id}: ${title}`, async () => {
    const ours = transcript.ms === undefined ? await replay(transcript) : await replayWatch(transcript)
    const { response } = transcript
    assert.equal(ours.status, difference?.status ?? response.status)
    assert.equal(mediaType(ours.headers['content-type']), mediaType(response.headers['content-type']))
    assert.equal(ours.headers['cache-control'], response.headers['cache-control'])
    const body = withoutTexts(withoutOurAnnotation(ours.body))
    const ordered = transcript.id.startsWith('cache-') ? inOurOrder(response.body) : response.body
    const original = difference?.body === undefined ? ordered : difference.body(ordered, body)
    assert.deepEqual(body, original)
  })
}

interface Replayed {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly body: Json
}

async function replay({ id, path, method, headers, body, response }: Transcript): Promise<Replayed> {
  const answer = loopback.ask(id === 'proxy-continue' ? await ownContinuation(path) : path, {
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (id === 'proxy-rv-future') await fleet.clock.advanceUntil(() => fleet.clock.monotonicMs() >= 4_000)
  const { status, headers: own, json, text } = await answer
  if (json?.kind === 'Status' && path.includes('/search/cache')) {
    assert.equal(json.error, json.message, 'search/cache repeats the message under error')
  }
  return { status, headers: own, body: json ?? (response.body === '' ? text : undefined) }
}

/** The original's token has the position of a fake member in it: ours goes on from our own first page. */
async function ownContinuation(path: string): Promise<string> {
  const first = await loopback.ask(path.replace(/&continue=.*/, ''))
  return path.replace(/continue=.*/, `continue=${first.json.metadata.continue}`)
}

async function replayWatch({ id, path }: Transcript): Promise<Replayed> {
  const watch = await loopback.watch(path)
  if (watch.status !== 200) {
    await watch.until(1)
    return { status: watch.status, headers: watch.headers, body: watch.events }
  }
  if (id === 'watch-future') await fleet.clock.advance(6_000)
  if (id === 'watch-empty') await watch.until(4)
  if (id === 'watch-initial') await watch.until(5)
  if (id === 'watch-future') await watch.until(1)
  await settle(10)
  watch.close()
  return { status: watch.status, headers: watch.headers, body: watch.events }
}

function mediaType(header: unknown): string {
  return String(header).split(';')[0] ?? ''
}

/** Ours: every object carries both annotations. */
function withoutOurAnnotation(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutOurAnnotation)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'cluster.karmada.io/name')
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutOurAnnotation(item)]))
}

/** The transcripts leave the texts of errors out. */
function withoutTexts(value: Json): Json {
  if (value?.kind === 'Status') return stripStatus(value)
  if (!Array.isArray(value)) return value
  return value.map((entry) => {
    if (entry?.kind === 'Status') return stripStatus(entry)
    return entry?.object?.kind === 'Status' ? { ...entry, object: stripStatus(entry.object) } : entry
  })
}

function stripStatus({ message: _m, error: _e, details, ...status }: Json): Json {
  if (details === undefined) return status
  const causes = details.causes?.map(({ message: _, ...cause }: Json) => cause)
  return { ...status, details: causes === undefined ? details : { ...details, causes } }
}

/** Ours: sorted by cluster, namespace and name; the original's order is random. */
function inOurOrder(body: Json): Json {
  if (!Array.isArray(body?.items)) return body
  const key = ({ metadata }: Json): string =>
    [metadata.annotations['resource.karmada.io/cached-from-cluster'], metadata.namespace ?? '', metadata.name].join('/')
  return { ...body, items: body.items.toSorted((a: Json, b: Json) => (key(a) < key(b) ? -1 : 1)) }
}

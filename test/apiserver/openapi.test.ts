import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { createPlainPaths } from '../../src/apiserver/plain-paths.ts'
import { REGISTRY, type Shape } from '../../src/registry/schema.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { Loopback, type Answer } from '../http/loopback.ts'

type Json = Record<string, unknown>
interface Document {
  readonly paths: Record<string, Record<string, Json>>
  readonly schemas: Record<string, Json>
}

const GROUP = 'apis/search.karmada.io'
const V1ALPHA1 = `${GROUP}/v1alpha1`
const SEARCH = 'com.github.karmada-io.karmada.pkg.apis.search.v1alpha1'
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const PROTOBUF_V2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const PROTOBUF_V3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'

/** VolumeAttachment of a kube-apiserver 1.36: of the whole cluster, with a status. Without descriptions. */
const KUBE = JSON.parse(
  readFileSync(new URL('../fixtures/kube/openapi-volumeattachments.json', import.meta.url), 'utf8'),
) as { readonly v2: Document; readonly v3: Document }

describe('OpenAPI', () => {
  let server: Loopback
  let v2: Document
  let v3: Document
  let hash: string

  before(async () => {
    const metrics = createMetricsRegistry()
    const clock = new FakeClock()
    const paths = createPlainPaths({ version: '1.2.3', checks: [], metrics, platform: 'test', paths: [], clock })
    server = await Loopback.start(paths)
    const two = (await get('/openapi/v2')).json as { paths: Document['paths']; definitions: Document['schemas'] }
    v2 = { paths: two.paths, schemas: two.definitions }
    const three = (await get(`/openapi/v3/${V1ALPHA1}`)).json as { paths: Document['paths']; components: Document }
    v3 = { paths: three.paths, schemas: three.components.schemas }
    const url = (await index())[V1ALPHA1]?.serverRelativeURL ?? ''
    hash = new URL(url, 'http://localhost').searchParams.get('hash') ?? ''
  })
  after(() => server.close())

  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> => server.ask(path, { headers })
  const index = async (): Promise<Record<string, { serverRelativeURL: string }>> =>
    ((await get('/openapi/v3')).json as { paths: Record<string, { serverRelativeURL: string }> }).paths

  describe('schemas', () => {
    for (const version of ['v2', 'v3'] as const) {
      const documents = (): { readonly ours: Document; readonly kube: Document } => ({
        ours: version === 'v2' ? v2 : v3,
        kube: KUBE[version],
      })

      it(`${version}: types of Kubernetes are as a kube-apiserver describes them`, () => {
        const { ours, kube } = documents()
        const names = Object.keys(kube.schemas).filter((name) => name.startsWith('io.k8s.apimachinery'))
        assert.ok(names.length > 15)
        for (const name of names) {
          assert.deepEqual(structure(ours.schemas[name]), structure(asOurs(kube.schemas[name])), name)
        }
      })

      it(`${version}: a registry and its list are built as objects of a kube-apiserver`, () => {
        const { ours, kube } = documents()
        const list = 'io.k8s.api.storage.v1.VolumeAttachmentList'
        assert.deepEqual(
          structure(ours.schemas[`${SEARCH}.ResourceRegistryList`]),
          structure(asOurs(kube.schemas[list])),
        )
        // VolumeAttachment requires its spec.
        const { required, ...volumeAttachment } = asOurs(kube.schemas['io.k8s.api.storage.v1.VolumeAttachment']) as Json
        assert.deepEqual(required, ['spec'])
        assert.deepEqual(structure(ours.schemas[`${SEARCH}.ResourceRegistry`]), structure(volumeAttachment))
      })

      it(`${version}: paths have the verbs, parameters, bodies and answers of a kube-apiserver's`, () => {
        const { ours, kube } = documents()
        for (const [path, item] of Object.entries(asOurs(kube.paths) as Document['paths'])) {
          // One of the few kinds whose deletion answers with the object; most answer with a Status.
          if (path.endsWith('{name}')) item['delete'] = withStatus(item['delete'] as Json)
          assert.deepEqual(structure(ours.paths[path]), structure(item), path)
        }
      })

      it(`${version}: every reference leads somewhere, every part says what it is`, () => {
        const { ours } = documents()
        const prefix = version === 'v2' ? '#/definitions/' : '#/components/schemas/'
        walk(ours, (key, value) => {
          if (key !== '$ref') return
          assert.ok(typeof value === 'string' && value.startsWith(prefix), String(value))
          assert.ok(ours.schemas[value.slice(prefix.length)], value)
        })
        for (const [name, schema] of Object.entries(ours.schemas)) {
          assert.ok(schema['description'], name)
          for (const [field, property] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
            assert.ok(property['description'], `${name}.${field}`)
          }
        }
      })
    }

    it('every field that a registry may have is described, and no other', () => {
      const paths: string[] = []
      walkShape(REGISTRY, '', (path) => paths.push(path))
      const described: string[] = []
      walkSchema(v3.schemas[`${SEARCH}.ResourceRegistry`] as Json, '', v3.schemas, (path) => described.push(path))
      const known = described.filter((path) => !path.startsWith('metadata.managedFields[].'))
      assert.deepEqual(known.sort(), paths.sort())
      assert.ok(known.includes('spec.backendStore.elasticsearch.secretRef.name'))
    })

    it('lists of a registry have one owner each, a label selector has one as a whole', () => {
      let lists = 0
      for (const [name, schema] of Object.entries(v3.schemas)) {
        if (!name.includes('karmada') || name.endsWith('List')) continue
        for (const [field, property] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
          if (property['type'] !== 'array') continue
          lists += 1
          assert.equal(property['x-kubernetes-list-type'], 'atomic', `${name}.${field}`)
        }
      }
      assert.equal(lists, 6)
      assert.equal(v3.schemas[`${META}.LabelSelector`]?.['x-kubernetes-map-type'], 'atomic')
    })

    it('requires what the original requires', () => {
      const required = (name: string): unknown => v3.schemas[`${SEARCH}.${name}`]?.['required']
      assert.equal(required('ResourceRegistry'), undefined)
      assert.deepEqual(required('ResourceRegistrySpec'), ['targetCluster', 'resourceSelectors'])
      assert.deepEqual(required('ResourceSelector'), ['apiVersion', 'kind'])
      assert.deepEqual(required('OpenSearchConfig'), ['addresses'])
      assert.deepEqual(structure(v2.schemas[`${META}.Condition`]), structure(KUBE.v2.schemas[`${META}.Condition`]))
    })

    it('operations have names of their own', () => {
      const ids: string[] = []
      walk(v3.paths, (key, value) => {
        if (key === 'operationId') ids.push(String(value))
      })
      assert.equal(new Set(ids).size, ids.length)
      assert.ok(ids.includes('connectSearchKarmadaIoV1alpha1GetSearchWithPath'))
    })
  })

  describe('v3 documents', () => {
    it('the index names our documents alone, by their hashes', async () => {
      // A kube-apiserver merges it into its own: `version` or `apis` would stand for the kube-apiserver's.
      assert.deepEqual(Object.keys(await index()), [GROUP, V1ALPHA1])
      assert.match(hash, /^[0-9A-F]{128}$/)
      for (const { serverRelativeURL } of Object.values(await index())) {
        assert.equal((await get(serverRelativeURL)).headers['cache-control'], 'public, immutable')
      }
    })

    it('by its hash: kept for a year', async () => {
      const { status, headers } = await get(`/openapi/v3/${V1ALPHA1}?hash=${hash}`)
      assert.equal(status, 200)
      assert.equal(headers.etag, `"${hash}"`)
      assert.equal(headers.vary, 'Accept')
      const days = (Date.parse(headers.expires ?? '') - new FakeClock().nowMs()) / (24 * 3600 * 1000)
      assert.equal(Math.round(days), 365)
    })

    it('without a hash: never kept unasked', async () => {
      const { status, headers } = await get(`/openapi/v3/${V1ALPHA1}`)
      assert.equal(status, 200)
      assert.equal(headers['cache-control'], 'no-cache, private')
      assert.equal(headers.expires, undefined)
    })

    it('by another hash: leads to ours', async () => {
      const { status, headers, raw } = await get(`/openapi/v3/${V1ALPHA1}?hash=OLD`)
      assert.equal(status, 301)
      assert.equal(headers.location, `/openapi/v3/${V1ALPHA1}?hash=${hash}`)
      assert.notEqual(headers['cache-control'], 'public, immutable')
      assert.equal(raw.length, 0)
    })

    it('by another hash through a kube-apiserver, which lets no redirect pass: the document, not to be kept', async () => {
      const { status, headers } = await get(`/openapi/v3/${V1ALPHA1}?hash=OLD`, { 'x-forwarded-for': '10.0.0.1' })
      assert.equal(status, 200)
      assert.equal(headers.etag, `"${hash}"`)
      assert.equal(headers['cache-control'], 'no-cache, private')
    })

    it('a document of another group: 404', async () => {
      for (const path of ['/openapi/v3/apis/apps/v1', '/openapi/v3/', '/openapi/v3/version', '/openapi/v1']) {
        assert.equal((await get(path)).status, 404, path)
      }
    })

    it('gzip leaves Vary true', async () => {
      const { headers } = await get(`/openapi/v3/${V1ALPHA1}`, { 'accept-encoding': 'gzip' })
      assert.equal(headers['content-encoding'], 'gzip')
      assert.equal(headers.vary, 'Accept, Accept-Encoding')
    })
  })

  for (const path of ['/openapi/v2', '/openapi/v3', `/openapi/v3/${V1ALPHA1}`]) {
    it(`${path}: 304 for who has it`, async () => {
      const { etag = '' } = (await get(path)).headers
      for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const { status, headers, raw } = await get(path, { 'if-none-match': tags })
        assert.deepEqual([status, headers.etag, raw.length], [304, etag, 0], tags)
      }
      assert.equal((await get(path, { 'if-none-match': '"other"' })).status, 200)
    })

    it(`${path}: JSON alone`, async () => {
      for (const accept of ['application/json', '*/*', 'application/*', `${PROTOBUF_V2}, application/json;q=0.5`]) {
        const { status, headers } = await get(path, { accept })
        assert.deepEqual([status, headers['content-type']], [200, 'application/json'], accept)
      }
      for (const accept of [PROTOBUF_V2, PROTOBUF_V3, 'application/yaml', 'application/json;q=0']) {
        const { status, json } = await get(path, { accept })
        assert.deepEqual([status, (json as Json)['reason']], [406, 'NotAcceptable'], accept)
      }
    })

    it(`${path}: reads alone`, async () => {
      assert.equal((await server.ask(path, { method: 'POST' })).status, 405)
      const head = await server.ask(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.raw.length], [200, 0])
      assert.ok(head.headers.etag)
    })
  }
})

/** What a kube-apiserver speaks and we do not. */
const NOT_OURS = new Set(['shardSelector', 'shardInfo', 'ignoreStoreReadErrorWithClusterBreakingPotential'])

/** A kube-apiserver's description of VolumeAttachments as one of ResourceRegistries. */
function asOurs(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replaceAll('io.k8s.api.storage.v1.VolumeAttachment', `${SEARCH}.ResourceRegistry`)
    .replaceAll('/apis/storage.k8s.io/v1', `/${V1ALPHA1}`)
    .replaceAll('volumeattachments', 'resourceregistries')
    .replaceAll('VolumeAttachment', 'ResourceRegistry')
    .replaceAll('StorageV1', 'SearchKarmadaIoV1alpha1')
    .replaceAll('storage_v1', 'searchKarmadaIo_v1alpha1')
  return JSON.parse(text, function (this: Json, key, inner: unknown) {
    return key === 'version' && this['group'] === 'storage.k8s.io' ? 'v1alpha1' : inner
  }) as unknown
}

function withStatus(deletion: Json): Json {
  const responses = JSON.stringify(deletion['responses']).replaceAll(`${SEARCH}.ResourceRegistry`, `${META}.Status`)
  return { ...deletion, responses: JSON.parse(responses) as unknown }
}

/** Without descriptions, without what only a kube-apiserver speaks, lists that have no order sorted. */
function structure(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('storage.k8s.io', 'search.karmada.io'), (key, inner: unknown) => {
    if (key === 'description' && typeof inner === 'string') return undefined
    if (NOT_OURS.has(key) || key.startsWith('application/vnd.kubernetes.protobuf')) return undefined
    if (!Array.isArray(inner)) return inner
    return inner
      .filter((each) => !isNotOurs(each))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) as unknown
  }) as unknown
}

function isNotOurs(item: unknown): boolean {
  if (typeof item === 'string') return item.startsWith('application/vnd.kubernetes.protobuf')
  return typeof item === 'object' && item !== null && NOT_OURS.has(String((item as Json)['name']))
}

function walk(value: unknown, visit: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    visit(key, inner)
    walk(inner, visit)
  }
}

function walkShape(shape: Shape, path: string, visit: (path: string) => void): void {
  if (typeof shape === 'string' || 'map' in shape) return
  if ('list' in shape) {
    walkShape(shape.list, `${path}[]`, visit)
    return
  }
  for (const [field, inner] of Object.entries(shape.fields)) {
    const at = path === '' ? field : `${path}.${field}`
    visit(at)
    walkShape(inner, at, visit)
  }
}

function walkSchema(schema: Json, path: string, schemas: Document['schemas'], visit: (path: string) => void): void {
  const [reference] = (schema['allOf'] ?? []) as { $ref: string }[]
  if (reference !== undefined) {
    walkSchema(schemas[reference.$ref.replace('#/components/schemas/', '')] as Json, path, schemas, visit)
  }
  if (schema['items'] !== undefined) walkSchema(schema['items'] as Json, `${path}[]`, schemas, visit)
  for (const [field, inner] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
    const at = path === '' ? field : `${path}.${field}`
    visit(at)
    walkSchema(inner, at, schemas, visit)
  }
}

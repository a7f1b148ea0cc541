/** Values that a real kube-apiserver encrypted are read by us, and it reads those that we encrypted. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { parseEncryptionConfiguration } from '../../src/registry/encryption/encryption-configuration.ts'
import type { ValueTransformer } from '../../src/registry/encryption/value-transformer.ts'
import { EtcdRegistryStore } from '../../src/registry/etcd/registry-store.ts'
import { ResourceRegistries } from '../../src/registry/resource-registries.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import { input } from '../registry/fixture.ts'
import { startControlPlane, type RealCluster } from '../support/real-parts/control-plane.ts'
import { createTestClient, type TestClient } from '../support/real-parts/http.ts'

const GROUP = 'encrypted.fleetsearch.dev'
const PROVIDERS = ['aescbc', 'aesgcm', 'secretbox']
const secret = randomBytes(32).toString('base64')

/** Each provider encrypts the resource that is called after it. */
function configuration(resourceOf: (provider: string) => string): string {
  const resources = PROVIDERS.map((name) => ({
    resources: [resourceOf(name)],
    providers: [{ [name]: { keys: [{ name: 'key1', secret }] } }, { identity: {} }],
  }))
  return JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources })
}

function transformerOf(provider: string): ValueTransformer {
  return parseEncryptionConfiguration(
    JSON.stringify({
      ...(JSON.parse(configuration(() => 'unused.dev')) as object),
      resources: [
        {
          resources: ['resourceregistries.search.karmada.io'],
          providers: [{ [provider]: { keys: [{ name: 'key1', secret }] } }],
        },
      ],
    }),
  )
}

function definitionOf(provider: string): object {
  const names = { plural: `${provider}s`, singular: provider, kind: provider.toUpperCase() }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${GROUP}` },
    spec: { group: GROUP, scope: 'Cluster', names, versions: [{ name: 'v1', served: true, storage: true, schema }] },
  }
}

describe('encryption at rest beside a kube-apiserver', () => {
  let folder: string
  let plane: RealCluster
  let etcd: TestClient

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-encryption-'))
    const file = path.join(folder, 'config.json')
    await writeFile(
      file,
      configuration((provider) => `${provider}s.${GROUP}`),
    )
    plane = await startControlPlane({ name: 'encrypting', flags: [`--encryption-provider-config=${file}`] })
    etcd = createTestClient({ url: plane.etcdUrl })
    for (const provider of PROVIDERS) {
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(definitionOf(provider)) })
      await plane.kubectl(['wait', '--for=condition=Established', `crd/${provider}s.${GROUP}`])
    }
  })
  after(async () => {
    await etcd.close()
    await plane.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const base64 = (value: string | Buffer): string => Buffer.from(value as string).toString('base64')
  const read = async (key: string): Promise<Buffer> => {
    const answer = (await etcd.ok('/v3/kv/range', { body: { key: base64(key) } })) as { kvs: [{ value: string }] }
    return Buffer.from(answer.kvs[0].value, 'base64')
  }

  for (const provider of PROVIDERS) {
    it(`${provider}: each reads what the other wrote`, async () => {
      const keyOf = (name: string): string => `/registry/${GROUP}/${provider}s/${name}`
      const object = {
        apiVersion: `${GROUP}/v1`,
        kind: provider.toUpperCase(),
        metadata: { name: 'theirs' },
        size: 'XL',
      }
      await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(object) })
      const theirs = await read(keyOf('theirs'))
      assert.ok(theirs.toString('latin1').startsWith(`k8s:enc:${provider}:v1:key1:`))
      const transformer = transformerOf(provider)
      const { text, isStale } = transformer.fromStorage(theirs, keyOf('theirs'))
      const stored = JSON.parse(text) as { metadata: { uid: string }; size: string }
      assert.equal(stored.size, 'XL')
      assert.equal(isStale, false)

      const ours = { ...stored, metadata: { ...stored.metadata, name: 'ours', uid: randomUUID() }, size: 'S' }
      const value = transformer.toStorage(JSON.stringify(ours), keyOf('ours'))
      await etcd.ok('/v3/kv/put', { body: { key: base64(keyOf('ours')), value: base64(value) } })
      const seen = await plane.kubectl(['get', '-o', 'jsonpath={.size}', `${provider}s.${GROUP}`, 'ours'])
      assert.equal(seen, 'S')
    })
  }

  it('a write that changes nothing replaces a value of an old key, and nothing else', async () => {
    const open = (transformer?: ValueTransformer): EtcdRegistryStore =>
      new EtcdRegistryStore({
        servers: [plane.etcdUrl],
        transformer,
        clock: systemClock,
        random: systemRandom,
        logger: createLogger('silent'),
      })
    const key = '/registry/search.karmada.io/resourceRegistries/all'
    const [plain, encrypting] = [open(), open(transformerOf('aesgcm'))]
    const rotating = open(rotatingTo('secretbox', 'aesgcm'))
    try {
      const written = await encrypting.create(input('all'))
      const before = await read(key)
      assert.ok(before.toString('latin1').startsWith('k8s:enc:aesgcm:'))
      await assert.rejects(plain.get('all'), /encrypted/)
      assert.deepEqual((await plain.list()).items, [])

      const touch = async (store: EtcdRegistryStore): Promise<ResourceVersion> => {
        const registries = new ResourceRegistries({
          store,
          clock: systemClock,
          random: systemRandom,
          newUid: randomUUID,
        })
        const updated = await registries.update('all', (stored) => stored)
        return updated.metadata.resourceVersion as ResourceVersion
      }
      assert.equal(await touch(encrypting), written.metadata.resourceVersion)
      assert.deepEqual(await read(key), before)
      assert.notEqual(await touch(rotating), written.metadata.resourceVersion)
      assert.ok((await read(key)).toString('latin1').startsWith('k8s:enc:secretbox:'))
      assert.equal((await rotating.get('all'))?.metadata.name, 'all')
    } finally {
      await Promise.all([plain.close(), encrypting.close(), rotating.close()])
    }
  })
})

function rotatingTo(next: string, old: string): ValueTransformer {
  const providers = [next, old].map((name) => ({ [name]: { keys: [{ name: 'key1', secret }] } }))
  return parseEncryptionConfiguration(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ resources: ['resourceregistries.search.karmada.io'], providers }],
    }),
  )
}

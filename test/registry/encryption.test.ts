import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { parseEncryptionConfiguration } from '../../src/registry/encryption/encryption-configuration.ts'
import { PLAIN, ValueTransformerError, type ValueTransformer } from '../../src/registry/encryption/value-transformer.ts'

const RESOURCE = 'resourceregistries.search.karmada.io'
const KEY = '/registry/search.karmada.io/resourceRegistries/all'
const TEXT = '{"metadata":{"name":"all","labels":{"größe":"XL"}}}\n'
const secrets = { a: randomBytes(32).toString('base64'), b: randomBytes(16).toString('base64') }

type Rule = { readonly resources: readonly string[]; readonly providers: readonly object[] }

function configured(...rules: readonly Rule[]): ValueTransformer {
  return parseEncryptionConfiguration(
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources: rules }),
  )
}

const rule = (...providers: readonly object[]): Rule => ({ resources: [RESOURCE], providers })
const provider = (name: string, key: 'a' | 'b' = 'a'): object => ({
  [name]: { keys: [{ name: key, secret: secrets[key] }] },
})

const unreadable = (error: unknown): boolean => error instanceof ValueTransformerError

describe('encryption of registries', () => {
  for (const name of ['aescbc', 'aesgcm', 'secretbox']) {
    it(`${name}: hides the value, and gives it back`, () => {
      const transformer = configured(rule(provider(name)))
      const stored = transformer.toStorage(TEXT, KEY)
      assert.ok(stored.toString('latin1').startsWith(`k8s:enc:${name}:v1:a:`))
      assert.ok(!stored.includes('metadata'))
      assert.ok(!stored.equals(transformer.toStorage(TEXT, KEY)), 'the same value looks the same twice')
      assert.deepEqual(transformer.fromStorage(stored, KEY), { text: TEXT, isStale: false })
      for (const length of [0, 1, 20, stored.length - 1]) {
        assert.throws(() => transformer.fromStorage(stored.subarray(0, length), KEY), unreadable)
      }
    })
  }

  it('notices a changed value, and with aesgcm one that was moved', () => {
    for (const name of ['aesgcm', 'secretbox']) {
      const transformer = configured(rule(provider(name)))
      const stored = transformer.toStorage(TEXT, KEY)
      stored.writeUInt8(stored.readUInt8(stored.length - 1) ^ 1, stored.length - 1)
      assert.throws(() => transformer.fromStorage(stored, KEY), unreadable)
    }
    const gcm = configured(rule(provider('aesgcm')))
    assert.throws(() => gcm.fromStorage(gcm.toStorage(TEXT, KEY), `${KEY}2`), unreadable)
  })

  it('reads by every provider and writes by the first, so that keys and providers can be rotated', () => {
    const old = configured(rule(provider('aescbc', 'b'))).toStorage(TEXT, KEY)
    const rotating = configured(rule(provider('aesgcm'), provider('aescbc', 'b'), { identity: {} }))
    assert.deepEqual(rotating.fromStorage(old, KEY), { text: TEXT, isStale: true })
    assert.deepEqual(rotating.fromStorage(Buffer.from(TEXT), KEY), { text: TEXT, isStale: true })
    assert.deepEqual(rotating.fromStorage(rotating.toStorage(TEXT, KEY), KEY), { text: TEXT, isStale: false })
    const leaving = configured(rule({ identity: {} }, provider('aescbc', 'b')))
    assert.equal(leaving.toStorage(TEXT, KEY).toString(), TEXT)
    assert.deepEqual(leaving.fromStorage(old, KEY), { text: TEXT, isStale: true })
  })

  it('a secret that was changed under its name opens nothing, and the next one is tried', () => {
    const secret = (bytes: number): object => ({
      aescbc: { keys: [{ name: 'k', secret: Buffer.alloc(32, bytes).toString('base64') }] },
    })
    const old = configured(rule(secret(1))).toStorage(TEXT, KEY)
    assert.throws(() => configured(rule(secret(2))).fromStorage(old, KEY), unreadable)
    assert.deepEqual(configured(rule(secret(2), secret(1))).fromStorage(old, KEY), { text: TEXT, isStale: true })
  })

  it('refuses what is encrypted where nothing decrypts it', () => {
    const stored = configured(rule(provider('secretbox'))).toStorage(TEXT, KEY)
    for (const transformer of [PLAIN, configured(rule(provider('aescbc'))), configured(rule({ identity: {} }))]) {
      assert.throws(() => transformer.fromStorage(stored, KEY), unreadable)
    }
    const another = configured(rule({ secretbox: { keys: [{ name: 'z', secret: secrets.a }] } }, { identity: {} }))
    assert.throws(() => another.fromStorage(stored, KEY), unreadable)
  })

  it('follows the most specific rule; what is about other resources leaves registries plain', () => {
    const others = configured({ resources: ['secrets', 'deployments.apps'], providers: [provider('aescbc')] })
    assert.equal(others.toStorage(TEXT, KEY).toString(), TEXT)
    const both = configured(rule({ identity: {} }), { resources: ['*.*'], providers: [provider('aescbc')] })
    assert.equal(both.toStorage(TEXT, KEY).toString(), TEXT)
    const wide = configured({ resources: ['*.search.karmada.io'], providers: [provider('aescbc')] })
    assert.match(wide.toStorage(TEXT, KEY).toString('latin1'), /^k8s:enc:aescbc/)
  })

  it('tells every fault with its path, and no secret', () => {
    const bad = JSON.stringify({
      resources: [
        { resources: ['*.*'], providers: [{ identity: {} }] },
        { resources: [RESOURCE], providers: [] },
        {
          resources: [],
          providers: [
            {},
            { aescbc: {}, identity: {} },
            { kms: { name: 'x' } },
            { rot13: {} },
            {
              aesgcm: {
                keys: [
                  { name: '', secret: secrets.b },
                  { name: 'short', secret: 'c2VjcmV0LXRleHQ=' },
                ],
              },
            },
            { secretbox: { keys: [{ name: 'b', secret: secrets.b }] } },
            { aescbc: { keys: [] } },
          ],
        },
        { resources: [RESOURCE], providers: [{ identity: {} }] },
      ],
    })
    assert.throws(
      () => parseEncryptionConfiguration(bad),
      (error: unknown) => {
        assert.ok(error instanceof Error)
        assert.deepEqual(error.message.split('; '), [
          'it is no EncryptionConfiguration of apiserver.config.k8s.io/v1',
          'resources[1].providers: at least one is needed',
          'resources[2].resources: at least one is needed',
          'resources[2].providers[0]: expected one of aescbc, aesgcm, secretbox, identity',
          'resources[2].providers[1]: expected one of aescbc, aesgcm, secretbox, identity',
          'resources[2].providers[2].kms: not supported',
          'resources[2].providers[3].rot13: there is no such provider',
          'resources[2].providers[4].aesgcm.keys[0].name: needed',
          'resources[2].providers[4].aesgcm.keys[1].secret: expected 16, 24, 32 bytes in base64',
          'resources[2].providers[5].secretbox.keys[0].secret: expected 32 bytes in base64',
          'resources[2].providers[6].aescbc.keys: at least one is needed',
          `resources[3].resources: ${RESOURCE} is masked by the earlier rule *.*`,
        ])
        return true
      },
    )
    for (const text of ['', '[]', 'a: [', 'null', '{"resources": 1}'])
      assert.throws(() => parseEncryptionConfiguration(text))
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreSecrets } from '../../src/controller/store-secrets.ts'
import type { Fields } from '../../src/fleet/fields.ts'
import type { MemberClient } from '../../src/fleet/member.ts'
import type { ObjectObserver } from '../../src/fleet/observe-objects.ts'

const CREDS = { namespace: 'ns', name: 'creds' }

function secret(data: Readonly<Record<string, string>>, name = 'creds'): Fields {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  return { metadata: { name, namespace: 'ns' }, data: Object.fromEntries(encoded) as unknown }
}

function following() {
  const watched = new Map<string, { observer: ObjectObserver; signal: AbortSignal }>()
  let changes = 0
  const secrets = new StoreSecrets(
    {} as MemberClient,
    (_client, { namespace = '', fieldSelector = '' }, observer, signal) => {
      watched.set(`${namespace} ${fieldSelector}`, { observer, signal })
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
    },
    () => changes++,
  )
  secrets.follow([CREDS])
  const [watch] = [...watched.values()]
  assert.ok(watch)
  return { secrets, watched, ...watch, changes: () => changes }
}

test('only the Secret that is named is watched, and no longer than it is named', async () => {
  const { secrets, watched, signal } = following()
  assert.deepEqual([...watched.keys()], ['ns metadata.name=creds'])
  assert.equal(secrets.get(CREDS), 'Secret ns/creds has not been read yet')
  secrets.follow([CREDS])
  assert.equal(watched.size, 1)
  assert.equal(signal.aborted, false)
  secrets.follow([])
  assert.equal(signal.aborted, true)
  await secrets.close()
})

test('credentials are read under either name of the user, change live, and say why there are none', async () => {
  const { secrets, observer, changes } = following()
  observer.failing('forbidden')
  assert.equal(secrets.get(CREDS), 'Secret ns/creds cannot be read: forbidden')
  observer.replaced([])
  assert.equal(secrets.get(CREDS), 'Secret ns/creds does not exist')
  observer.changed('ADDED', secret({ userName: 'u', password: 'one' }))
  assert.deepEqual(secrets.get(CREDS), { username: 'u', password: 'one' })
  observer.changed('MODIFIED', secret({ username: 'v', password: 'two', 'ca.crt': 'PEM' }))
  assert.deepEqual(secrets.get(CREDS), { username: 'v', password: 'two', ca: 'PEM' })
  observer.changed('MODIFIED', secret({ apiKey: 'key' }))
  assert.deepEqual(secrets.get(CREDS), { apiKey: 'key' })
  observer.failing('the control plane is away')
  assert.deepEqual(secrets.get(CREDS), { apiKey: 'key' }, 'what was read stays')
  observer.changed('MODIFIED', secret({ token: 'secret-value' }))
  assert.equal(secrets.get(CREDS), 'Secret ns/creds has none of username, apiKey and ca.crt')
  observer.changed('DELETED', secret({ apiKey: 'key' }))
  assert.equal(secrets.get(CREDS), 'Secret ns/creds does not exist')
  assert.equal(changes(), 7)
  await secrets.close()
})

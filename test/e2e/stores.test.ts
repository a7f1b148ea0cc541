/**
 * `fleetsearch serve` behind a real APIService, over two real members, with registries that name real engines: documents
 * arrive and searches are answered from them, credentials are taken from a Secret and rotated, and all goes with the registry.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { after, afterEach, before, describe, it, type TestContext } from 'node:test'
import type { Condition } from '../../src/api/resource-registry.ts'
import {
  BASE,
  startKarmadaFleet,
  startServe,
  until,
  type KarmadaFleet,
  type ServeProcess,
} from '../support/karmada-fleet.ts'
import { startHttpFaultProxy } from '../support/http-fault-proxy.ts'
import { startSearchEngine, type RealSearchEngine } from '../support/real-parts/index.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const NAMESPACE = 'karmada-system'
/** A condition is written ten seconds after its fault, some seconds later on a busy machine. */
const TOLD_MS = 60_000

const CLUSTER = 'cluster.karmada.io/name'

interface Metadata {
  readonly name: string
  readonly annotations: Readonly<Record<string, string>>
}

interface Credentials {
  readonly username: string
  readonly password: string
}

/** A real engine that asks for a password which can be changed. */
interface Guarded {
  readonly engine: RealSearchEngine
  readonly url: string
  /** From now on this alone is let in. */
  setUser(user: Credentials): Promise<void>
  stop(): Promise<void>
}

/** Its security plugin asks. */
async function openSearch(): Promise<Guarded> {
  const engine = await startSearchEngine('opensearch-2-security')
  return {
    engine,
    url: engine.url,
    async setUser({ username, password }) {
      const body = { password, opendistro_security_roles: ['all_access'] }
      await engine.client.ok(`/_plugins/_security/api/internalusers/${username}`, { method: 'PUT', body })
    },
    stop: () => engine.stop(),
  }
}

/** Elasticsearch's own security is not free to build: a proxy asks. */
async function elasticsearch(): Promise<Guarded> {
  const engine = await startSearchEngine('elasticsearch-9')
  const proxy = await startHttpFaultProxy(engine.url)
  return {
    engine,
    url: proxy.url,
    async setUser(user) {
      proxy.user = user
    },
    async stop() {
      await proxy.close()
      await engine.stop()
    },
  }
}

describe('stores that registries name, in serve', () => {
  let fleet: KarmadaFleet
  let wire: TcpProxy
  let serve: ServeProcess
  const engines = new Map<string, Guarded>()

  before(async () => {
    const [started, os, es] = await Promise.all([
      startKarmadaFleet(['m1', 'm2'], { joined: ['m1'] }),
      openSearch(),
      elasticsearch(),
    ])
    fleet = started
    engines.set('openSearch', os).set('elasticsearch', es)
    wire = await startTcpProxy(Number(new URL(fleet.members[1]!.url).port))
    await fleet.join(fleet.members[1]!, { url: `https://127.0.0.1:${wire.port}` })
    for (const name of ['shop-a', 'shop-b']) await Promise.all(fleet.members.map((_, i) => put(i, name)))
    serve = await startServe(fleet.host, { flags: ['--search-store=registry'] })
  })
  after(async () => {
    await serve?.stop()
    await wire?.close()
    await Promise.all([fleet?.stop(), ...[...engines.values()].map((engine) => engine.stop())])
  })

  /** What only the process knows is worth most where a test fails. */
  afterEach(async (t) => {
    if ((t as TestContext).passed) return
    console.error(`BackendHealthy: ${JSON.stringify(await condition('BackendHealthy'))}\n${serve.process.logTail(40)}`)
  })

  async function put(member: number, name: string): Promise<void> {
    const body = { metadata: { name }, data: { note: 'blue' } }
    await fleet.members[member]!.ok('/api/v1/namespaces/default/configmaps', { body })
  }
  const remove = (at: string): Promise<unknown> => fleet.host.ok(at, { method: 'DELETE' })
  const secretAt = `/api/v1/namespaces/${NAMESPACE}/secrets`

  /** Keys as the original's documentation names them, or as its code reads them. */
  function secretOf({ username, password }: Credentials, caPem: string | undefined, userKey: string): object {
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const data = { [userKey]: base64(username), password: base64(password) }
    return { metadata: { name: 'creds' }, data: caPem === undefined ? data : { ...data, 'ca.crt': base64(caPem) } }
  }

  async function condition(type: string): Promise<Condition | undefined> {
    const { status } = (await fleet.host.ok(`${BASE}/resourceregistries/stored`)) as {
      status?: { conditions?: readonly Condition[] }
    }
    return status?.conditions?.find((each) => each.type === type)
  }
  const untilTold = (status: string, reason: string): Promise<void> =>
    until(
      async () => {
        const found = await condition('BackendHealthy')
        return found?.status === status && found.reason === reason
      },
      `BackendHealthy=${status} ${reason}`,
      TOLD_MS,
    )

  /** What a search behind the aggregator finds; undefined: it is refused. */
  async function found(): Promise<string[] | undefined> {
    const answer = await fleet.host.request(`${BASE}/search/query?q=kind:ConfigMap%20name:shop-*&facets=cluster`)
    if (answer.status === 503) return undefined
    const { items } = answer.json() as { items: readonly { object: { metadata: Metadata } }[] }
    return items.map(({ object: { metadata } }) => `${metadata.annotations[CLUSTER]}/${metadata.name}`).sort()
  }
  const untilFound = (...names: readonly string[]): Promise<void> =>
    until(async () => {
      const all = new Set(await found())
      return names.every((name) => all.has(name))
    }, names.join())

  /** Past everything of ours. */
  async function stored({ engine }: Guarded, cluster: string): Promise<number> {
    const query = { term: { 'fleetsearch.value.cluster': `=${cluster}` } }
    await engine.client.request('/kubernetes-configmap/_refresh', { method: 'POST' })
    const answer = await engine.client.request('/kubernetes-configmap/_count', { body: { query } })
    return answer.status === 200 ? (answer.json() as { count: number }).count : 0
  }
  async function indices({ engine }: Guarded): Promise<string[]> {
    const list = (await engine.client.ok('/_cat/indices/fleetsearch-*?format=json')) as { index: string }[]
    return list.map(({ index }) => index)
  }

  async function register(kind: string, { url }: Guarded): Promise<void> {
    const secretRef = { namespace: NAMESPACE, name: 'creds' }
    await fleet.register('stored', {
      targetCluster: {},
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }],
      backendStore: { [kind]: { addresses: [url], secretRef } },
    })
  }

  it('without an engine there is nothing to search in, and no store of its own', async () => {
    const answer = await fleet.host.request(`${BASE}/search/query?q=a`)
    assert.equal(answer.status, 503)
    assert.match((answer.json() as { message: string }).message, /no ResourceRegistry names a search engine/)
    assert.equal(existsSync(path.join(fleet.host.folder, 'fleetsearch-data/search.db')), false)
  })

  for (const [kind, userKey] of [
    ['openSearch', 'userName'],
    ['elasticsearch', 'username'],
  ] as const) {
    describe(kind, () => {
      const first = { username: 'mirror', password: 'The-first-1' }
      const second = { username: 'mirror', password: 'The-second-2' }
      let guarded: Guarded
      before(async () => {
        guarded = engines.get(kind)!
        await guarded.setUser(first)
      })

      it('a wrong password is told in the condition, and mended in the Secret without a restart', async () => {
        const { caPem } = guarded.engine
        await fleet.host.ok(secretAt, { body: secretOf(second, caPem, userKey) })
        await register(kind, guarded)
        await untilTold('False', 'Unauthorized')
        const told = await condition('BackendHealthy')
        const place = new URL(guarded.url).host
        assert.match(told?.message ?? '', new RegExp(`${place}.*does not accept the credentials`))
        assert.doesNotMatch(JSON.stringify(told), /The-second/)
        const body = secretOf(first, caPem, userKey)
        await fleet.host.ok(`${secretAt}/creds`, { method: 'PUT', body })
        await untilFound('m1/shop-a', 'm1/shop-b', 'm2/shop-a', 'm2/shop-b')
        await untilTold('True', 'Written')
        assert.equal(serve.process.running, true)
      })

      it('searches behind the aggregator are answered from it, facets and all', async () => {
        interface Answer {
          readonly total: number
          readonly facets: unknown
          /** None as soon as everything that is cached is in the store. */
          readonly warnings?: unknown
        }
        let answer: Answer | undefined
        await until(async () => {
          answer = (await fleet.host.ok(`${BASE}/search/query?q=blue%20name:shop-a&facets=cluster`)) as Answer
          return answer.warnings === undefined
        }, 'a store that has everything')
        assert.equal(answer?.total, 2)
        assert.match(JSON.stringify(answer.facets), /"m1".*"m2"/)
        assert.ok((await stored(guarded, 'm1')) >= 2)
      })

      it('a password that is changed in the engine, then in the Secret: what came meanwhile is written', async () => {
        await guarded.setUser(second)
        const name = `shop-late-${kind.toLowerCase()}`
        await put(0, name)
        await until(async () => (await found()) === undefined, 'refused credentials', TOLD_MS)
        const body = secretOf(second, guarded.engine.caPem, userKey)
        await fleet.host.ok(`${secretAt}/creds`, { method: 'PUT', body })
        await untilFound(`m1/${name}`)
      })

      it('documents of a cluster that cannot be reached stay, those of the others follow', async () => {
        const before = await stored(guarded, 'm2')
        wire.stall()
        try {
          wire.cut()
          const name = `shop-beside-${kind.toLowerCase()}`
          await put(0, name)
          await untilFound(`m1/${name}`)
          assert.equal(await stored(guarded, 'm2'), before)
          assert.equal((await found())?.filter((each) => each.startsWith('m2/')).length, 2)
        } finally {
          wire.resume()
        }
      })

      it('the registry goes, and every index of ours with it', async () => {
        assert.ok((await indices(guarded)).length > 0)
        await remove(`${BASE}/resourceregistries/stored`)
        await remove(`${secretAt}/creds`)
        await until(async () => (await indices(guarded)).length === 0, 'an empty engine')
        await until(async () => (await found()) === undefined, 'nothing to search in')
      })
    })
  }

  it('an engine that was away when its registry went is emptied by the process that runs next', async () => {
    const guarded = engines.get('elasticsearch')!
    const user = { username: 'mirror', password: 'The-second-2' }
    await fleet.host.ok(secretAt, { body: secretOf(user, undefined, 'username') })
    await register('elasticsearch', guarded)
    await untilFound('m2/shop-a')
    await guarded.engine.kill()
    await remove(`${BASE}/resourceregistries/stored`)
    await serve.restart()
    await guarded.engine.start()
    await until(async () => (await indices(guarded)).length === 0, 'an empty engine')
  })
})

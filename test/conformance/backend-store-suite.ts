/** What every backend store does. `storeSuite(open)` from the store's own test file; `open` gives an empty store. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type {
  BackendStore,
  Change,
  ManifestEntry,
  ShardIdentity,
  Upsert,
} from '../../src/backendstore/backend-store.ts'
import { isBackendStoreError } from '../../src/backendstore/errors.ts'
import { parseLabelSelector } from '../../src/kube/label-selector.ts'
import { seededRandom } from '../support/fake-clock.ts'
import { ask, namesFound } from '../support/search.ts'

export interface OpenedStore {
  readonly store: BackendStore
  /** Closes it and removes what it left. */
  dispose(): Promise<void>
}

export const PODS = { cluster: 'member1', group: '', version: 'v1', resource: 'pods', kind: 'Pod' }
export const WIDGETS = { cluster: 'member1', group: 'example.io', version: 'v1', resource: 'widgets', kind: 'Widget' }

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

interface Draft {
  readonly shard?: ShardIdentity
  readonly namespace?: string
  readonly uid?: string
  readonly version?: string
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly created?: string
  readonly body?: object
}

export function upsert(name: string, draft: Draft = {}): Upsert {
  const {
    shard = PODS,
    namespace = 'default',
    uid = `uid-${name}`,
    version = '1',
    labels,
    annotations,
    created,
  } = draft
  const metadata = { name, namespace, uid, resourceVersion: version, labels, annotations, creationTimestamp: created }
  const apiVersion = shard.group === '' ? shard.version : `${shard.group}/${shard.version}`
  const object = { apiVersion, kind: shard.kind, metadata, ...draft.body }
  const bytes = Buffer.from(JSON.stringify(object))
  return { type: 'upsert', ...shard, namespace, name, uid, resourceVersion: version, bytes }
}

export function remove(name: string, shard: ShardIdentity = PODS, namespace = 'default'): Change {
  return { type: 'delete', ...shard, namespace, name }
}

async function* manifest(...parts: readonly (readonly ManifestEntry[])[]): AsyncGenerator<readonly ManifestEntry[]> {
  for (const part of parts) yield await Promise.resolve(part)
}

const entry = (name: string, version = '1', uid = `uid-${name}`): ManifestEntry => ({
  namespace: 'default',
  name,
  uid,
  resourceVersion: version,
})

export function storeSuite(open: () => Promise<OpenedStore>): void {
  let opened: OpenedStore
  let store: BackendStore
  before(async () => {
    opened = await open()
    store = opened.store
  })
  after(() => opened.dispose())
  beforeEach(async () => {
    for (const shard of await store.shards()) await store.dropShard(shard)
  })

  describe('writing', () => {
    test('a written object is found at once, an upsert replaces it, a delete removes it', async () => {
      await store.write([upsert('a', { labels: { app: 'web' } }), upsert('b', { labels: { app: 'db' } })])
      assert.deepEqual(await namesFound(store, 'label.app=web'), ['default/a'])
      await store.write([upsert('a', { version: '2', labels: { app: 'cart' } })])
      assert.deepEqual(await namesFound(store, 'label.app=web'), [])
      assert.deepEqual(await namesFound(store, 'cart'), ['default/a'])
      const summary = await store.write([remove('a'), remove('never')])
      assert.equal(summary.deleted, 1)
      assert.deepEqual(await namesFound(store, ''), ['default/b'])
    })

    test('another UID under the same name is another object, and the old one is gone', async () => {
      await store.write([upsert('a', { uid: 'u1', labels: { app: 'old' } })])
      await store.write([upsert('a', { uid: 'u2', labels: { app: 'new' } })])
      assert.deepEqual(await namesFound(store, 'old'), [])
      assert.deepEqual(
        (await ask(store, '')).hits.map(({ uid }) => uid),
        ['u2'],
      )
    })

    test('one UID in two clusters is two documents', async () => {
      await store.write([upsert('a', { uid: 'u' }), upsert('a', { uid: 'u', shard: { ...PODS, cluster: 'member2' } })])
      assert.deepEqual(
        (await ask(store, 'uid=u')).hits.map(({ cluster }) => cluster),
        ['member1', 'member2'],
      )
    })

    test('a name of several lines, as roles may have, is a name like others', async () => {
      const roles = { ...PODS, group: 'rbac.authorization.k8s.io', resource: 'roles', kind: 'Role' }
      const both = [upsert('web', { shard: roles }), upsert('web\nu2', { shard: roles, uid: 'u2' })]
      await store.write(both)
      assert.deepEqual(await namesFound(store, 'kind:Role'), ['default/web', 'default/web\nu2'])
      assert.equal((await store.write(both)).unchanged, 2)
      await store.write([remove('web\nu2', roles)])
      assert.deepEqual(await namesFound(store, 'kind:Role'), ['default/web'])
    })

    test('the last change of a name in a batch counts', async () => {
      await store.write([upsert('a'), remove('a'), upsert('b'), upsert('b', { version: '2', labels: { x: 'y' } })])
      assert.deepEqual(await namesFound(store, ''), ['default/b'])
      assert.deepEqual(await namesFound(store, 'label.x=y'), ['default/b'])
    })

    test('G3: an unchanged object is not written again', async () => {
      await store.write([upsert('a')])
      const { written, unchanged } = await store.write([upsert('a')])
      assert.deepEqual({ written, unchanged }, { written: 0, unchanged: 1 })
    })

    test('the same version with other content is written: a restored cluster counts versions anew', async () => {
      await store.write([upsert('a', { labels: { app: 'web' } })])
      await store.write([upsert('a', { labels: { app: 'db' } })])
      assert.deepEqual(await namesFound(store, 'label.app=db'), ['default/a'])
    })

    test('an object that cannot be read is refused alone, with its name', async () => {
      const bad: Upsert = { ...upsert('bad'), bytes: Buffer.from('{"metadata":') }
      const { written, rejected } = await store.write([upsert('a'), bad])
      assert.equal(written, 1)
      assert.deepEqual(
        rejected.map(({ cluster, namespace, name }) => [cluster, namespace, name]),
        [['member1', 'default', 'bad']],
      )
      assert.deepEqual(await namesFound(store, ''), ['default/a'])
    })

    test('another version of a resource replaces its documents one by one', async () => {
      await store.write([upsert('a', { shard: WIDGETS }), upsert('b', { shard: WIDGETS })])
      const v2 = { ...WIDGETS, version: 'v2' }
      await store.write([upsert('a', { shard: v2 }), upsert('b', { shard: v2 })])
      assert.deepEqual(await namesFound(store, 'apiversion=example.io/v2'), ['default/a', 'default/b'])
      assert.deepEqual(await namesFound(store, 'apiversion=example.io/v1'), [])
    })
  })

  describe('comparing', () => {
    test('names what is missing, stale, of another UID, and what should not be there', async () => {
      await store.write(['same', 'stale', 'reborn', 'extra'].map((name) => upsert(name)))
      await store.write([upsert('other', { shard: WIDGETS })])
      const parts = manifest([entry('same'), entry('stale', '2')], [entry('reborn', '1', 'u2'), entry('missing')])
      const names = await store.compare(PODS, parts)
      assert.deepEqual(names.map(({ name }) => name).sort(), ['extra', 'missing', 'reborn', 'stale'])
    })

    test('a manifest that breaks off leaves the store as it is', async () => {
      await store.write([upsert('a')])
      async function* broken(): AsyncGenerator<readonly ManifestEntry[]> {
        yield await Promise.resolve([entry('a')])
        throw new Error('gone')
      }
      await assert.rejects(store.compare(PODS, broken()), /gone/)
      assert.deepEqual(await store.compare(PODS, manifest([entry('a')])), [])
    })

    test('a shard that is dropped loses its documents and no others', async () => {
      const other = { ...PODS, cluster: 'member2' }
      await store.write([upsert('a'), upsert('b', { shard: other }), upsert('c', { shard: WIDGETS })])
      await store.dropShard(PODS)
      assert.deepEqual(await namesFound(store, ''), ['default/c', 'default/b'])
      assert.deepEqual(
        (await store.shards())
          .map(({ cluster, group, resource, objects }) => [cluster, group, resource, objects])
          .sort(),
        [
          ['member1', 'example.io', 'widgets', 1],
          ['member2', '', 'pods', 1],
        ],
      )
      await store.dropShard({ cluster: 'nope', group: '', resource: 'pods' })
    })
  })

  describe('searching', () => {
    test('E7: label conditions as Kubernetes means them', async () => {
      await store.write([
        upsert('a', { labels: { tier: 'web' } }),
        upsert('b', { labels: { tier: 'db' } }),
        upsert('c'),
        upsert('d', { labels: { tier: 'Web', 'search.x/flag-more': '1' } }),
      ])
      assert.deepEqual(await namesFound(store, 'label.tier!=web'), ['default/b', 'default/c', 'default/d'])
      assert.deepEqual(await namesFound(store, 'label.tier!=(web,db)'), ['default/c', 'default/d'])
      assert.deepEqual(await namesFound(store, '-label.tier:*'), ['default/c'])
      assert.deepEqual(await namesFound(store, 'label.tier=(web, db)'), ['default/a', 'default/b'])
      assert.deepEqual(await namesFound(store, 'label.search.x/flag-more=1'), ['default/d'])
      assert.deepEqual(await namesFound(store, 'label.search.x/flag:*'), [])
    })

    test('E7: whatever label selector is asked, the store finds what memory finds', async () => {
      const random = seededRandom(7)
      const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
      const keys = ['tier', 'app', 'search.x/flag', 'search.x/flag-more']
      const values = ['', 'web', 'db', 'Web', 'web-1']
      const objects = Array.from({ length: 40 }, (_, i) => {
        const own = keys.filter(() => random() < 0.6).map((key) => [key, pick(values)] as const)
        return { name: `p${i}`, labels: own.length === 0 ? undefined : Object.fromEntries(own) }
      })
      await store.write(objects.map(({ name, labels }) => upsert(name, labels === undefined ? {} : { labels })))
      /** The selector, and the same as a query. */
      const requirement = (): readonly [selector: string, query: string] => {
        const [key, value, other] = [pick(keys), pick(values), pick(values.slice(1))]
        return pick([
          [`${key}=${value}`, `label.${key}="${value}"`],
          [`${key}!=${value}`, `label.${key}!="${value}"`],
          [`${key} in (${other},db)`, `label.${key}=(${other}, db)`],
          [`${key} notin (${other},db)`, `label.${key}!=(${other}, db)`],
          [key, `label.${key}:*`],
          [`!${key}`, `-label.${key}:*`],
        ])
      }
      for (let i = 0; i < 60; i++) {
        const all = Array.from({ length: 1 + Math.floor(random() * 3) }, requirement)
        const selector = parseLabelSelector(all.map(([text]) => text).join(','))
        const expected = objects.filter(({ labels }) => selector.matches((key) => labels?.[key]))
        const found = await namesFound(store, all.map(([, query]) => query).join(' '))
        assert.deepEqual(found.sort(), expected.map(({ name }) => `default/${name}`).sort(), selector.toString())
      }
    })

    test('H1: label and annotation keys that are prefixes of each other, empty values, null', async () => {
      const longKey = `${'a'.repeat(60)}.example.com/${'b'.repeat(63)}`
      await store.write([
        upsert('d1', { labels: { app: 'a' } }),
        upsert('d2', { labels: { 'app.kubernetes.io/name': 'b', 'app.kubernetes.io': 'c' } }),
        upsert('d3', { annotations: { a: '1', 'a.b': '2', 'a.b.c': '3' } }),
        upsert('d4', { labels: { app: '' } }),
        upsert('d5', { labels: { [longKey]: 'v' } }),
        upsert('d6', { shard: WIDGETS, body: { spec: { field: null } } }),
      ])
      assert.deepEqual(await namesFound(store, 'label.app=a'), ['default/d1'])
      assert.deepEqual(await namesFound(store, 'label.app.kubernetes.io/name=b'), ['default/d2'])
      assert.deepEqual(await namesFound(store, 'label.app.kubernetes.io=c'), ['default/d2'])
      assert.deepEqual(await namesFound(store, 'label.app:*'), ['default/d1', 'default/d4'])
      assert.deepEqual(await namesFound(store, 'label.app='), ['default/d4'])
      assert.deepEqual(await namesFound(store, 'annotation.a.b=2'), ['default/d3'])
      assert.deepEqual(await namesFound(store, 'annotation.a=2'), [])
      assert.deepEqual(await namesFound(store, `label.${longKey}:*`), ['default/d5'])
      assert.deepEqual(await namesFound(store, 'null'), [])
      assert.deepEqual(await namesFound(store, 'spec.field:*'), [])
    })

    test('H3: any number of distinct keys, deep trees, one path of every type', async () => {
      const deep = (i: number): object =>
        Array.from({ length: 25 }).reduce<object>((inner, _, level) => ({ [`k${i}x${level}`]: inner }), { leaf: i })
      const ports = [80, 'http', { name: 'x' }, [443, '443'], null, true]
      await store.write([
        ...Array.from({ length: 300 }, (_, i) =>
          upsert(`p${i}`, { labels: { [`label-${i}`]: 'x' }, annotations: { [`note-${i}`]: 'y' } }),
        ),
        ...Array.from({ length: 40 }, (_, i) =>
          upsert(`w${i}`, { shard: WIDGETS, body: { spec: { tree: deep(i), port: ports[i % ports.length] } } }),
        ),
      ])
      assert.deepEqual(await namesFound(store, 'label.label-77=x'), ['default/p77'])
      assert.deepEqual(await namesFound(store, 'annotation.note-299=y'), ['default/p299'])
      const path = Array.from({ length: 25 }, (_, level) => `k7x${24 - level}`).join('.')
      assert.deepEqual(await namesFound(store, `spec.tree.${path}.leaf=7`), ['default/w7'])
      assert.equal((await ask(store, 'spec.port=80')).total, 7)
      assert.equal((await ask(store, 'spec.port>=80')).total, 14)
      assert.equal((await ask(store, 'spec.port=http')).total, 7)
      assert.equal((await ask(store, 'spec.port:*')).total, 34)
    })

    test('I1: whatever is typed finds itself, and nothing is an error', async () => {
      await store.write([
        upsert('pod-1', {
          namespace: 'ns',
          labels: { 'app.kubernetes.io/name': 'x' },
          annotations: { note: 'foo[0] 2001:db8::1 🚀 a AND back\\slash' },
          body: {
            spec: { containers: [{ name: 'c', image: 'registry:5000/img@sha256:ab' }] },
            status: { podIP: '10.0.0.1' },
          },
        }),
        upsert('unrelated'),
      ])
      const literals = [
        'app.kubernetes.io/name',
        'registry:5000/img@sha256:ab',
        'foo[0]',
        'a AND',
        '"a AND"',
        'ns/pod-1',
      ]
      for (const q of [
        ...literals,
        '10.0.0.1',
        '2001:db8::1',
        '🚀',
        'back\\slash',
        '"unbalanced-pod-1'.replace('unbalanced-', ''),
      ]) {
        assert.deepEqual(await namesFound(store, q), ['ns/pod-1'], q)
      }
      for (const q of ['*', '', '\\', '[', ')', '((', '-']) assert.equal((await ask(store, q)).total, 2, q)
      for (const q of [
        '-x',
        'x'.repeat(10_000),
        '"',
        "'; DROP TABLE doc",
        'NEAR(a b)',
        'terms : x',
        '^a',
        'a*b*',
        '{name} : a',
      ]) {
        assert.equal(typeof (await ask(store, q)).total, 'number', q)
      }
    })

    test('I4: numbers, case, booleans, ages, quantities and versions sort as what they are, missing last', async () => {
      const node = { ...PODS, resource: 'nodes', kind: 'Node' }
      const pod = (name: string, restarts?: number): Upsert =>
        upsert(name, {
          body: { status: { containerStatuses: restarts === undefined ? [] : [{ restartCount: restarts }] } },
        })
      await store.write([pod('r2', 2), pod('r10', 10), pod('r9', 9)])
      assert.deepEqual(await namesFound(store, '', { sort: ['restarts'] }), ['default/r2', 'default/r9', 'default/r10'])
      assert.deepEqual(await namesFound(store, '', { sort: ['-restarts'] }), [
        'default/r10',
        'default/r9',
        'default/r2',
      ])
      await store.dropShard(PODS)

      await store.write(['b', 'A', 'a', 'B'].map((name) => upsert(name)))
      assert.deepEqual(await namesFound(store, '', { sort: ['name'] }), [
        'default/A',
        'default/a',
        'default/B',
        'default/b',
      ])
      assert.deepEqual(await namesFound(store, '', { sort: ['-name'] }), [
        'default/b',
        'default/B',
        'default/a',
        'default/A',
      ])
      await store.dropShard(PODS)

      const created = ['2023-10-11T00:00:00Z', '2024-08-08T00:00:00Z', '2024-12-30T00:00:00Z', '2026-11-29T23:58:30Z']
      await store.write(created.map((time, i) => upsert(`t${i}`, { created: time })).concat(upsert('none')))
      const oldest = ['default/t0', 'default/t1', 'default/t2', 'default/t3', 'default/none']
      assert.deepEqual(await namesFound(store, '', { sort: ['age'] }), oldest)
      assert.deepEqual(await namesFound(store, '', { sort: ['-created'] }), [
        ...oldest.slice(0, 4).reverse(),
        'default/none',
      ])
      // Two years and 114 days before the clock of the tests is when t1 was made, to the second.
      assert.deepEqual(await namesFound(store, 'age<2y114d'), ['default/t2', 'default/t3'])
      assert.deepEqual(await namesFound(store, 'age<=2y114d'), ['default/t1', 'default/t2', 'default/t3'])
      await store.dropShard(PODS)

      const nodeOf = (name: string, memory: string, version: string, ip: string): Upsert =>
        upsert(name, {
          shard: node,
          namespace: '',
          body: {
            status: {
              allocatable: { memory },
              nodeInfo: { kubeletVersion: version },
              addresses: [{ type: 'InternalIP', address: ip }],
            },
          },
        })
      await store.write([
        nodeOf('n1', '900Mi', 'v1.10.0', '10.0.0.10'),
        nodeOf('n2', '1Gi', 'v1.9.9', '10.0.0.9'),
        nodeOf('n3', '1000Mi', 'v1.10.0-rc.1', '9.255.0.1'),
      ])
      assert.deepEqual(await namesFound(store, '', { sort: ['memory'] }), ['n1', 'n3', 'n2'])
      assert.deepEqual(await namesFound(store, '', { sort: ['version'] }), ['n2', 'n3', 'n1'])
      assert.deepEqual(await namesFound(store, '', { sort: ['internalip'] }), ['n3', 'n2', 'n1'])
      assert.deepEqual(await namesFound(store, 'memory>=1000Mi version<v1.10'), ['n3', 'n2'].sort())
    })

    test('I3: false, unset and empty are three things', async () => {
      const cron = { ...PODS, group: 'batch', resource: 'cronjobs', kind: 'CronJob' }
      const job = (name: string, suspend?: boolean): Upsert =>
        upsert(name, { shard: cron, body: { spec: { suspend } } })
      await store.write([job('on', true), job('off', false), job('unset')])
      assert.deepEqual(await namesFound(store, 'spec.suspend=false'), ['default/off'])
      assert.deepEqual(await namesFound(store, 'spec.suspend=true'), ['default/on'])
      assert.deepEqual(await namesFound(store, 'spec.suspend!=true'), ['default/off', 'default/unset'])
      assert.deepEqual(await namesFound(store, '-spec.suspend:*'), ['default/unset'])
    })

    test('integers beyond 2^53 keep their digits', async () => {
      const big = (name: string, id: string): Upsert => ({
        ...upsert(name, { shard: WIDGETS }),
        bytes: Buffer.from(`{"metadata":{"name":"${name}"},"spec":{"id":${id}}}`),
      })
      await store.write([big('a', '9007199254740993'), big('b', '9007199254740992')])
      assert.deepEqual(await namesFound(store, 'spec.id=9007199254740993'), ['default/a'])
      assert.deepEqual(await namesFound(store, 'spec.id>9007199254740992'), ['default/a'])
      const { facets } = await ask(store, '', { facets: ['spec.id'] })
      assert.deepEqual(
        facets[0]?.values.map(({ value }) => value),
        ['9007199254740992', '9007199254740993'],
      )
    })

    test('the values of Secrets are not to be found, their keys are', async () => {
      const secrets = { ...PODS, resource: 'secrets', kind: 'Secret' }
      const applied = '{"data":{"password":"aHVudGVyMg=="}}'
      await store.write([
        upsert('s', {
          shard: secrets,
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': applied },
          body: { type: 'Opaque', data: { password: 'aHVudGVyMg==' }, stringData: { token: 'hunter2' } },
        }),
      ])
      for (const q of [
        'aHVudGVyMg==',
        'hunter2',
        'data.password=aHVudGVyMg==',
        'data.password:a*',
        '.stringData.token=hunter2',
      ]) {
        assert.deepEqual(await namesFound(store, q), [], q)
      }
      assert.deepEqual(await namesFound(store, 'password'), ['default/s'])
      assert.deepEqual(await namesFound(store, 'data.password:*'), ['default/s'])
      const { facets } = await ask(store, '', { facets: ['data.password'] })
      assert.deepEqual(facets[0]?.values, [])
    })

    test('nor are those of a Secret inside of another object', async () => {
      const works = { ...PODS, group: 'work.karmada.io', version: 'v1alpha1', resource: 'works', kind: 'Work' }
      const metadata = { name: 'db', annotations: { [LAST_APPLIED]: '{"data":{"password":"aHVudGVyMg=="}}' } }
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'aHVudGVyMg==' } }
      await store.write([upsert('w', { shard: works, body: { spec: { workload: { manifests: [secret] } } } })])
      const path = 'spec.workload.manifests'
      for (const q of ['aHVudGVyMg==', `${path}.data.password=aHVudGVyMg==`, `${path}.data.password:a*`]) {
        assert.deepEqual(await namesFound(store, q), [], q)
      }
      assert.deepEqual(await namesFound(store, `${path}.metadata.annotations.${LAST_APPLIED}:*aHV*`), [])
      assert.deepEqual(await namesFound(store, `${path}.metadata.name=db ${path}.data.password:*`), ['default/w'])
    })

    test('pages walk every document once, whatever is written between them', async () => {
      await store.write(Array.from({ length: 25 }, (_, i) => upsert(`p${String(i).padStart(2, '0')}`)))
      const seen: string[] = []
      let page = await ask(store, '', { limit: 4 })
      for (let round = 0; ; round++) {
        seen.push(...page.hits.map(({ name }) => name))
        if (!page.more) break
        await store.write([remove(`p0${round}`), upsert(`new${round}`), upsert(`p${10 + round}`, { version: '2' })])
        page = await ask(store, '', { limit: 4, after: page.hits.at(-1)?.cursor ?? [] })
      }
      const stayed = Array.from({ length: 25 }, (_, i) => `p${String(i).padStart(2, '0')}`).filter(
        (name) => name > 'p09',
      )
      assert.deepEqual(
        seen.filter((name) => stayed.includes(name)),
        stayed,
      )
      assert.equal(new Set(seen).size, seen.length)
    })

    test('a cursor of another order is refused as a bad request', async () => {
      await store.write([upsert('a'), upsert('b')])
      const { hits } = await ask(store, '', { limit: 1 })
      await assert.rejects(ask(store, 'a', { after: hits[0]?.cursor ?? [] }), { code: 'badRequest' })
    })

    test('the better match comes first: name, label, the rest', async () => {
      await store.write([
        upsert('a', { annotations: { note: 'cart' } }),
        upsert('b', { labels: { app: 'cart' } }),
        upsert('cart-7'),
        upsert('cart'),
      ])
      const { hits } = await ask(store, 'cart')
      assert.deepEqual(
        hits.map(({ name, rank }) => [name, rank]),
        [
          ['cart', 1537],
          ['cart-7', 513],
          ['b', 64],
          ['a', 1],
        ],
      )
    })
  })

  test('after close every call is told so', async () => {
    const { store: closing, dispose } = await open()
    await closing.close()
    const isClosed = (error: unknown): boolean => isBackendStoreError(error, 'closed')
    await assert.rejects(closing.write([upsert('a')]), isClosed)
    await assert.rejects(ask(closing, 'a'), isClosed)
    await closing.close()
    await dispose()
  })
}

/**
 * `fleetsearch up` over a kubeconfig of somebody's real life: two clusters that work, one that is down, one behind another
 * CA, credentials that are wrong or out of date, contexts and CRDs that come and go.
 */
import assert from 'node:assert/strict'
import { createPrivateKey, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Follower } from '../support/follower.ts'
import { freePorts } from '../support/free-port.ts'
import { until } from '../support/karmada-fleet.ts'
import { BASE, CACHE, PROXY, QUERY, runProgram, startLocal, type LocalProcess } from '../support/local-process.ts'
import { podManifest } from '../support/manifests.ts'
import { startControlPlane, tryKubectl, type KubectlResult, type RealCluster } from '../support/real-parts/index.ts'

const CLUSTER_NAME = 'cluster.karmada.io/name'
const PODS = '/api/v1/namespaces/default/pods'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WIDGETS = '/apis/fleet.example/v1/namespaces/default/widgets'

const WRONG_TOKEN = 'this-token-was-never-valid-4711'
const OTHER_CA_TOKEN = 'this-token-never-leaves-the-house-0815'

interface Context {
  readonly server: string
  readonly ca?: string
  readonly user: Readonly<Record<string, string>>
}

/** Its own format is YAML; JSON is YAML. */
function kubeconfigOf(contexts: Readonly<Record<string, Context>>): string {
  const entries = Object.entries(contexts)
  const data = (pem: string): string => Buffer.from(pem).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(([name, { server, ca }]) => ({
      name,
      cluster: { server, ...(ca === undefined ? {} : { 'certificate-authority-data': data(ca) }) },
    })),
    users: entries.map(([name, { user }]) => ({ name, user })),
    contexts: entries.map(([name]) => ({ name, context: { cluster: name, user: name } })),
  })
}

describe('fleetsearch up', () => {
  let folder: string
  let one: RealCluster
  let two: RealCluster
  let up: LocalProcess
  let expiredToken: string
  let contexts: Record<string, Context>

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-up-files-'))
    ;[one, two] = await Promise.all([startControlPlane({ name: 'one' }), startControlPlane({ name: 'two' })])
    await one.ok(PODS, { body: podManifest('web-1') })
    await two.ok(PODS, { body: podManifest('web-2') })
    expiredToken = expiredServiceAccountToken(one)
    await writeFile(inFolder('token'), expiredToken)
    contexts = await firstContexts()
    await writeKubeconfig()
    up = await startUp()
  })

  after(async () => {
    await up?.stop()
    await Promise.all([one?.stop(), two?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  const inFolder = (name: string): string => path.join(folder, name)

  async function firstContexts(): Promise<Record<string, Context>> {
    const [closed] = await freePorts(1)
    const data = (pem: string): string => Buffer.from(pem).toString('base64')
    const { certPem, keyPem } = one.pki.admin
    return {
      'prod-one': {
        server: one.url,
        ca: one.caPem,
        user: { 'client-certificate-data': data(certPem), 'client-key-data': data(keyPem) },
      },
      'prod-two': { server: two.url, ca: two.caPem, user: { token: two.adminToken } },
      'prod-down': { server: `https://127.0.0.1:${closed!}`, ca: one.caPem, user: { token: WRONG_TOKEN } },
      'prod-other-ca': { server: two.url, ca: one.caPem, user: { token: OTHER_CA_TOKEN } },
      'prod-wrong-token': { server: two.url, ca: two.caPem, user: { token: WRONG_TOKEN } },
      'prod-old-token': { server: one.url, ca: one.caPem, user: { tokenFile: inFolder('token') } },
      'dev-one': { server: one.url, ca: one.caPem, user: { token: one.adminToken } },
    }
  }

  /** As editors and `kubectl config` do: another file takes its name. */
  async function writeKubeconfig(): Promise<void> {
    await writeFile(inFolder('new'), kubeconfigOf(contexts), { mode: 0o600 })
    await rename(inFolder('new'), inFolder('kubeconfig'))
  }

  function startUp(): Promise<LocalProcess> {
    return startLocal('up', {
      flags: [
        `--kubeconfig=${inFolder('kubeconfig')}`,
        '--contexts=prod-*,late-*',
        `--data-dir=${inFolder('data')}`,
        '--sync-timeout=20s',
      ],
    })
  }

  async function cached(resource: string): Promise<string[]> {
    const answer = await up.request(`${CACHE}${resource}`)
    assert.ok([200, 404].includes(answer.status), answer.text)
    const { items = [] } = answer.json() as { items?: { metadata: { name: string; annotations: object } }[] }
    return items.map(({ metadata }) => {
      const annotations = metadata.annotations as Record<string, string>
      return `${annotations[CLUSTER_NAME]!}/${metadata.name}`
    })
  }

  function kubectl(...args: string[]): Promise<KubectlResult> {
    return tryKubectl(['--server', up.url + PROXY, ...args])
  }

  async function kubectlOk(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(...args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  it('is ready although members are down, and lists the contexts that match', async () => {
    assert.equal((await up.request('/readyz')).status, 200)
    assert.deepEqual(await cached('/api/v1/pods'), ['prod-one/web-1', 'prod-two/web-2'])
  })

  it('says of each member that is missing why it is', async () => {
    const { headers } = await up.request(`${CACHE}/api/v1/pods`)
    const states = new Map(
      String(headers['fleetsearch-freshness'])
        .split(',')
        .map((part) => part.split(';') as [string, string]),
    )
    assert.equal(states.get('prod-one'), 'live')
    assert.equal(states.get('prod-two'), 'live')
    const warning = String(headers.warning)
    const reasons: [string, RegExp][] = [
      ['prod-down', /prod-down \([^)]*refused/],
      ['prod-other-ca', /prod-other-ca \([^)]*certificate is not signed by the configured CA/],
      ['prod-wrong-token', /prod-wrong-token \([^)]*(401|Unauthorized|credentials)/],
      ['prod-old-token', /prod-old-token \([^)]*(401|Unauthorized|credentials)/],
    ]
    for (const [name, reason] of reasons) {
      assert.equal(states.get(name), 'missing', name)
      assert.match(warning, reason)
    }
    assert.equal(states.size, 6)
    const printed = await kubectl('get', 'pods')
    assert.match(printed.stderr, /^Warning: 4 of 6 clusters are missing from this answer: /)
    assert.match(printed.stdout, /web-1[^]*web-2/)
  })

  it('says so in its log, a few times and not for each of forty kinds', () => {
    for (const name of ['prod-down', 'prod-other-ca', 'prod-wrong-token', 'prod-old-token']) {
      const told = up.records().filter(({ level, cluster }) => level === 40 && cluster === name)
      assert.ok(told.length >= 1 && told.length <= 5, `${told.length} warnings about ${name}`)
    }
  })

  it('looks like one cluster to kubectl', async () => {
    assert.match(await kubectlOk('get', 'pods', '-A', '-o', 'wide'), /NAMESPACE\s+NAME\s+READY.*\n.*web-1.*\n.*web-2/)
    assert.match(await kubectlOk('api-resources'), /^deployments\s+deploy\s+apps\/v1/m)
    assert.match(await kubectlOk('explain', 'pod.spec.containers'), /FIELD: containers <\[\]Container>/)
    assert.match(await kubectlOk('version'), /Server Version: v1\.36/)
    assert.match(await kubectlOk('get', 'namespaces'), /kube-system\s+Active/)
    assert.equal((await kubectl('delete', 'pod', 'web-1')).code, 1)
    assert.ok((await cached('/api/v1/pods')).includes('prod-one/web-1'))
  })

  it('describes a pod with its events, which nobody registered', async () => {
    const { metadata } = (await one.ok(`${PODS}/web-1`)) as { metadata: { uid: string } }
    await one.ok('/api/v1/namespaces/default/events', {
      body: {
        metadata: { name: 'web-1.1', namespace: 'default' },
        involvedObject: { kind: 'Pod', namespace: 'default', name: 'web-1', uid: metadata.uid, apiVersion: 'v1' },
        reason: 'FailedScheduling',
        message: 'no nodes available to schedule pods',
        type: 'Warning',
        firstTimestamp: '2026-11-30T00:00:00Z',
        lastTimestamp: '2026-11-30T00:00:00Z',
        count: 1,
        source: { component: 'scheduler' },
      },
    })
    assert.match(await kubectlOk('describe', 'pod', 'web-1'), /Events:[^]*FailedScheduling[^]*no nodes available/)
  })

  it('searches over all members', async () => {
    const found = async (): Promise<number> =>
      ((await up.ok(`${QUERY}?q=${encodeURIComponent('kind:Pod name:web-* image:nginx')}`)) as { total: number }).total
    await until(async () => (await found()) === 2, 'both pods in the store', 30_000)
  })

  it('does not end or lose objects when the kubeconfig is broken for a moment', async () => {
    writeFileSync(inFolder('kubeconfig'), 'clusters: [{name: "half')
    await until(
      async () => up.records().some(({ msg }) => msg === 'kubeconfig cannot be read, members stay as they were'),
      'the warning',
    )
    assert.equal((await cached('/api/v1/pods')).length, 2)
    await writeKubeconfig()
  })

  it('takes up a context that is added, and leaves one that is removed, under open watches', async () => {
    const follower = new Follower(`${up.url}${PROXY}/api/v1/pods`).start()
    await until(async () => follower.keys().length === 2, 'the first list')
    contexts = { ...contexts, 'late-one': contexts['dev-one']! }
    await writeKubeconfig()
    const added = ['late-one/default/web-1', 'prod-one/default/web-1', 'prod-two/default/web-2']
    await until(async () => follower.keys().join() === added.join(), 'the objects of the added context', 90_000)
    const { 'late-one': _gone, ...rest } = contexts
    contexts = rest
    await writeKubeconfig()
    await until(async () => follower.keys().join() === added.slice(1).join(), 'their end', 90_000)
    assert.deepEqual(await cached('/api/v1/pods'), ['prod-one/web-1', 'prod-two/web-2'])
    const { headers } = await up.request(`${CACHE}/api/v1/pods`)
    assert.doesNotMatch(String(headers['fleetsearch-freshness']), /late-one/)
    await follower.stop()
    assert.ok(follower.lists <= 4, `${follower.lists} lists`)
  })

  it('takes up a token file that was renewed, without a restart', async () => {
    await writeFile(inFolder('token'), one.adminToken)
    await until(async () => (await cached('/api/v1/pods')).includes('prod-old-token/web-1'), 'its objects', 120_000)
    const { headers } = await up.request(`${CACHE}/api/v1/pods`)
    assert.match(String(headers['fleetsearch-freshness']), /prod-old-token;live/)
  })

  it('serves a CRD that is created in one member, its objects and its columns, and its end', async () => {
    assert.equal((await up.request(`${CACHE}/apis/fleet.example/v1/widgets`)).status, 404)
    await two.ok(DEFINITIONS, { body: WIDGET_DEFINITION })
    const created = async (): Promise<boolean> =>
      (await two.request(WIDGETS, { body: widget('first', 3) })).status === 201
    await until(created, 'the CRD in the member')
    const first = ['prod-two/first']
    await until(
      async () => (await cached('/apis/fleet.example/v1/widgets')).join() === first.join(),
      'its objects',
      90_000,
    )
    await two.ok(WIDGETS, { body: widget('second', 9007199254740991) })
    await until(async () => (await cached('/apis/fleet.example/v1/widgets')).length === 2, 'the second', 10_000)
    const table = await kubectlOk('get', 'widgets', '-A')
    assert.match(table, /NAMESPACE\s+NAME\s+SIZE\s+AGE/)
    assert.match(table, /default\s+first\s+3\s/)
    assert.match(table, /default\s+second\s+9007199254740991\s/)
    assert.match(await kubectlOk('get', 'wd', 'first', '-o', 'jsonpath={.spec.size}'), /^3$/)

    const follower = new Follower(`${up.url}${PROXY}/apis/fleet.example/v1/widgets`).start()
    await until(async () => follower.keys().length === 2, 'the first list')
    await two.ok(`${DEFINITIONS}/widgets.fleet.example`, { method: 'DELETE' })
    await until(async () => (await cached('/apis/fleet.example/v1/widgets')).length === 0, 'their end', 90_000)
    await until(async () => (await kubectl('get', 'widgets', '-A', '-o', 'name')).stdout === '', 'no row', 60_000)
    await follower.stop().catch(() => undefined) // the resource itself may be gone by now: 404
    assert.deepEqual(follower.keys(), [])
    assert.deepEqual(await cached('/api/v1/pods'), ['prod-old-token/web-1', 'prod-one/web-1', 'prod-two/web-2'])
  })

  it('keeps what a member showed when it dies, marked stale, and follows it again when it is back', async () => {
    await two.kill()
    const freshness = async (): Promise<string> =>
      String((await up.request(`${CACHE}/api/v1/pods`)).headers['fleetsearch-freshness'])
    await until(async () => /prod-two;stale;/.test(await freshness()), 'the stale mark', 60_000)
    assert.ok((await cached('/api/v1/pods')).includes('prod-two/web-2'))
    assert.equal((await up.request('/readyz')).status, 200)
    await two.restart()
    await two.ok(PODS, { body: podManifest('web-3') })
    await until(async () => (await cached('/api/v1/pods')).includes('prod-two/web-3'), 'the new pod', 90_000)
    assert.match(await freshness(), /prod-two;live;/)
  })

  it('begins again with its registry and its store where it ended', async () => {
    assert.equal(await up.end(), 0)
    await leaksNothing()
    await up.stop()
    up = await startUp()
    const names = ['prod-old-token/web-1', 'prod-one/web-1', 'prod-two/web-2', 'prod-two/web-3']
    assert.deepEqual(await cached('/api/v1/pods'), names)
    const { items } = (await up.ok(`${BASE}/resourceregistries`)) as { items: { metadata: { name: string } }[] }
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['everything'],
    )
  })

  it('has told no secret to anybody', leaksNothing)

  /** In its log, in its headers, in its metrics and in its files. */
  async function leaksNothing(): Promise<void> {
    const told = [up.output()]
    if (up.process.running) {
      for (const where of [`${CACHE}/api/v1/pods`, `${PROXY}/api/v1/pods`, `${PROXY}/api/v1/events`, '/metrics']) {
        const { headers, text } = await up.request(where)
        told.push(JSON.stringify(headers), text)
      }
    }
    for (const file of ['registries.db', 'search.db']) told.push(readFileSync(inFolder(`data/${file}`), 'latin1'))
    const key = Buffer.from(one.pki.admin.keyPem).toString('base64')
    const secrets = [
      WRONG_TOKEN,
      OTHER_CA_TOKEN,
      expiredToken,
      one.adminToken,
      two.adminToken,
      key,
      one.pki.admin.keyPem,
    ]
    for (const secret of secrets) {
      for (const text of told) assert.ok(!text.includes(secret), 'a secret was told')
    }
  }
})

describe('how fleetsearch up refuses', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-up-files-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('names a kubeconfig that is not there', async () => {
    const { code, stderr } = await runProgram(['up', `--kubeconfig=${folder}/none`, '--port=0'], { HOME: folder })
    assert.ok(code === 1 || code === 2)
    assert.match(stderr, /kubeconfig/)
    assert.match(stderr, /none/)
  })

  it('names a kubeconfig that is none, and quotes nothing of it', async () => {
    const file = path.join(folder, 'broken')
    await writeFile(file, `users: [{name: a, user: {token: "${WRONG_TOKEN}`)
    const { code, stderr } = await runProgram(['up', `--kubeconfig=${file}`, '--port=0', `--data-dir=${folder}/data`])
    assert.equal(code, 1)
    assert.match(stderr, /broken is not YAML/)
    assert.ok(!stderr.includes(WRONG_TOKEN))
  })

  it('names a data folder that is a file', async () => {
    const [kubeconfig, data] = [path.join(folder, 'empty'), path.join(folder, 'a-file')]
    await writeFile(kubeconfig, kubeconfigOf({}))
    await writeFile(data, 'x')
    const { code, stderr } = await runProgram(['up', `--kubeconfig=${kubeconfig}`, `--data-dir=${data}`, '--port=0'])
    assert.equal(code, 1)
    assert.match(stderr, /a-file/)
  })

  it('refuses a data folder that another one uses, and leaves that one alone', async () => {
    const kubeconfig = path.join(folder, 'empty')
    await writeFile(kubeconfig, kubeconfigOf({}))
    const flags = [`--kubeconfig=${kubeconfig}`, `--data-dir=${folder}/shared`]
    const first = await startLocal('up', { flags })
    try {
      const { code, stderr } = await runProgram(['up', ...flags, '--port=0'])
      assert.equal(code, 1)
      assert.match(stderr, /another process uses the file/)
      assert.equal((await first.request('/readyz')).status, 200)
    } finally {
      await first.stop()
    }
  })
})

/** Of a service account, signed by the cluster's own key, and out of date since an hour. */
function expiredServiceAccountToken({ pki }: RealCluster): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'https://kubernetes.default.svc',
    aud: ['https://kubernetes.default.svc'],
    sub: 'system:serviceaccount:default:default',
    iat: now - 7_200,
    nbf: now - 7_200,
    exp: now - 3_600,
  }
  const text = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(claims)}`
  const key = createPrivateKey(readFileSync(pki.file('sa.key')))
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

const WIDGET_DEFINITION = {
  metadata: { name: 'widgets.fleet.example' },
  spec: {
    group: 'fleet.example',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer', format: 'int64' } } } },
          },
        },
      },
    ],
  },
}

function widget(name: string, size: number): object {
  return { apiVersion: 'fleet.example/v1', kind: 'Widget', metadata: { name }, spec: { size } }
}

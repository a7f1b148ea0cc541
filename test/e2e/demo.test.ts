/** `fleetsearch demo` as somebody meets it who has just installed it: the commands it prints, kubectl, its end. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../support/fake-clock.ts'
import { freePorts } from '../support/free-port.ts'
import {
  BASE,
  CACHE,
  PROXY,
  QUERY,
  runProgram,
  startLocal,
  type LocalProcess,
  type LogRecord,
} from '../support/local-process.ts'
import { tryKubectl, type KubectlResult, type TestResponse } from '../support/real-parts/index.ts'

interface Item {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations: Readonly<Record<string, string>>
  }
}

interface List {
  readonly kind: string
  readonly items: readonly Item[]
}

const CLUSTER_NAME = 'cluster.karmada.io/name'
const CACHED_FROM = 'resource.karmada.io/cached-from-cluster'
/** What the README promises between the start and the first answer. */
const START_MS = 30_000
/** For what needs no waiting, on a busy machine. */
const SOON_MS = 5_000
/** A stopped program waits this long for requests that are open (10 s), and some for a busy machine. */
const DRAIN_MS = 15_000

const clusterOf = ({ metadata }: Item): string | undefined => metadata.annotations[CLUSTER_NAME]

describe('fleetsearch demo', () => {
  let demo: LocalProcess

  before(async () => {
    const [port] = await freePorts(1)
    const startedMs = performance.now()
    demo = await startLocal('demo', { flags: [`--port=${port!}`] })
    assert.ok(performance.now() - startedMs < START_MS, 'it is ready in time')
    assert.equal(demo.url, `http://127.0.0.1:${port!}`)
  })

  after(async () => {
    await demo?.stop()
  })

  async function list(path: string): Promise<List> {
    return (await demo.ok(path)) as List
  }

  function kubectl(...args: string[]): Promise<KubectlResult> {
    return tryKubectl(['--server', demo.url + PROXY, ...args])
  }

  async function kubectlOk(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(...args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  /** Rows of a Table without its head, cut at two blanks and more. */
  async function rows(...args: string[]): Promise<string[][]> {
    const text = await kubectlOk('get', ...args, '--no-headers')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s{2,}/))
  }

  it('prints three commands, and each of them works as it is printed', async () => {
    const commands = [...demo.output().matchAll(/^ {2}(curl|kubectl) (.*)$/gm)].map(([, program, rest]) => ({
      program,
      // Quoted as a shell reads it.
      words: [...rest!.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!),
    }))
    assert.equal(commands.length, 3)
    for (const { program, words } of commands) {
      if (program === 'kubectl') {
        const { code, stdout, stderr } = await tryKubectl(words)
        assert.equal(code, 0, stderr)
        assert.match(stdout, /NAMESPACE\s+NAME\s+CLUSTER\s+READY/)
        continue
      }
      const url = words.find((word) => word.startsWith(demo.url))!
      assert.deepEqual(words.slice(0, 3), ['-s', '-H', 'Accept: text/csv'])
      const answer = await demo.request(url.slice(demo.url.length), { headers: { accept: 'text/csv' } })
      assert.equal(answer.status, 200, answer.text)
      assert.ok(answer.text.trim().split('\n').length > 4, answer.text)
    }
  })

  it('lists deployments of at least three clusters, with both annotations', async () => {
    const { kind, items } = await list(`${CACHE}/apis/apps/v1/deployments`)
    assert.equal(kind, 'DeploymentList')
    assert.ok(new Set(items.map(clusterOf)).size >= 3)
    for (const item of items) {
      assert.equal(item.kind, 'Deployment')
      assert.equal(item.apiVersion, 'apps/v1')
      assert.equal(item.metadata.annotations[CACHED_FROM], clusterOf(item))
    }
  })

  it('says how fresh every cluster is, and warns of none', async () => {
    const { headers } = await demo.request(`${CACHE}/api/v1/nodes`)
    assert.match(String(headers['fleetsearch-freshness']), /^[^;,]+;live;\d+(,[^;,]+;live;\d+){2,}$/)
    assert.equal(headers.warning, undefined)
  })

  it('has 20 kinds and more, custom ones among them, and a few thousand objects', async () => {
    const counts = await countByResource()
    const filled = [...counts].filter(([, count]) => count > 0)
    assert.ok(filled.length >= 20, `${filled.length} kinds have objects`)
    const definitions = await list(`${CACHE}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`)
    const names = new Set(definitions.items.map(({ metadata }) => metadata.name))
    const custom = filled.filter(([resource]) => names.has(resource))
    assert.ok(custom.length >= 2, `custom kinds with objects: ${custom.join()}`)
    const total = filled.reduce((sum, [, count]) => sum + count, 0)
    assert.ok(total >= 2_000, `${total} objects`)
  })

  /** Objects of each `resource.group` that the fleet's discovery names. */
  async function countByResource(): Promise<Map<string, number>> {
    const named = (await kubectlOk('api-resources', '--verbs=list,watch', '-o', 'name')).trim().split('\n')
    const counts = new Map<string, number>()
    for (const resource of named) {
      const lines = await kubectlOk('get', resource, '-A', '-o', 'name')
      counts.set(resource, lines.split('\n').filter((line) => line !== '').length)
    }
    return counts
  }

  it('searches words, fields and comparisons, with facets', async () => {
    const q = encodeURIComponent('image:nginx restarts>0')
    const result = (await demo.ok(`${QUERY}?q=${q}&facets=cluster,namespace`)) as SearchAnswer
    assert.equal(result.kind, 'QueryResult')
    assert.ok(result.total > 0)
    assert.equal(result.totalIsExact, true)
    assert.equal(result.items.length, result.total)
    for (const { object } of result.items) {
      assert.equal(object.kind, 'Pod')
      assert.match(JSON.stringify(object), /nginx/)
      assert.match(JSON.stringify(object), /"restartCount":[1-9]/)
    }
    const perCluster = result.facets['cluster']!.values
    assert.deepEqual(
      new Map(perCluster.map(({ value, count }) => [value, count])),
      countBy(result.items.map(({ object }) => clusterOf(object)!)),
    )
    assert.deepEqual(Object.keys(result.facets).sort(), ['cluster', 'namespace'])
  })

  it('says where the syntax of a query is wrong', async () => {
    const answer = await demo.request(`${QUERY}?q=${encodeURIComponent('image:nginx restarts>abc')}`)
    assert.equal(answer.status, 400)
    const { message, error } = answer.json() as { message: string; error: string }
    assert.equal(error, message)
    assert.match(message, /position 21: restarts is a number, and "abc" is not/)
  })

  it('E9: shows pods and nodes of all clusters to kubectl', async () => {
    const wide = await kubectlOk('get', 'pods', '-A', '-o', 'wide')
    assert.match(wide, /NAMESPACE\s+NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE/)
    const cached = (await list(`${CACHE}/api/v1/pods`)).items.length
    // Pods come and go while we count.
    assert.ok(Math.abs(wide.trim().split('\n').length - 1 - cached) <= cached / 10)
    for (const sick of ['CrashLoopBackOff', 'ImagePullBackOff', 'Pending', 'Evicted'])
      assert.match(wide, new RegExp(sick))
    const nodes = await rows('nodes')
    assert.ok(nodes.length >= 3)
    assert.ok(nodes.some(([, status]) => status === 'Ready'))
  })

  it('E9: tells kubectl what the fleet serves', async () => {
    const resources = await kubectlOk('api-resources')
    assert.match(resources, /^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m)
    assert.match(resources, /^customresourcedefinitions\s+crd,crds\s+apiextensions\.k8s\.io\/v1\s+false/m)
    assert.match(await kubectlOk('api-versions'), /^apps\/v1$/m)
    assert.match(await kubectlOk('auth', 'can-i', 'list', 'pods'), /^yes$/m)
    assert.match((await kubectl('auth', 'can-i', 'delete', 'pods')).stdout, /^no - this server is read-only$/m)
    assert.match(await kubectlOk('version'), /^Server Version: v1\.\d+\.\d+/m)
    assert.match(await kubectlOk('get', '--raw', '/healthz'), /^ok/)
    assert.match(await kubectlOk('explain', 'pod'), /^KIND:\s+Pod$/m)
    assert.match(await kubectlOk('explain', 'pod.spec.containers'), /^FIELD: containers </m)
    assert.match((await kubectl('get', 'unicorns')).stderr, /doesn't have a resource type "unicorns"/)
  })

  it('watches: kubectl get -w sees pods come and go', async () => {
    const before = (await rows('pods', '-A')).length
    const { stdout } = await tryKubectl(['--server', demo.url + PROXY, 'get', 'pods', '-A', '-w', '--no-headers'], {
      signal: AbortSignal.timeout(20_000),
    })
    const seen = stdout.trim().split('\n')
    assert.ok(seen.length > before + 5, `${before} pods at first, then ${seen.length - before} changes`)
    assert.match(seen.slice(before).join('\n'), /Pending|ContainerCreating|Terminating|Completed/)
  })

  it('describes a pod with its events', async () => {
    const crashing = (await rows('pods', '-A')).find((row) => row.includes('CrashLoopBackOff'))
    assert.ok(crashing !== undefined)
    const [namespace, name] = crashing as [string, string]
    const text = await kubectlOk('describe', 'pod', '-n', namespace, name)
    assert.match(text, new RegExp(`^Name:\\s+${name}$`, 'm'))
    assert.match(text, /Reason:\s+CrashLoopBackOff/)
    assert.match(text, /Events:\n.*\n.*\n(.*\n)*?.*BackOff\s/)
  })

  it('D1: says which clusters have an object of that name, and reads it from one that is chosen', async () => {
    const { code, stderr } = await kubectl('get', 'namespace', 'kube-system')
    assert.equal(code, 1)
    const [first] = (await list(`${CACHE}/api/v1/namespaces/kube-system`)).items
    const cluster = clusterOf(first!)!
    assert.match(stderr, new RegExp(cluster))
    const one = await demo.ok(`${BASE}/proxying/cluster.${cluster}/proxy/api/v1/namespaces/kube-system`)
    assert.equal(clusterOf(one as Item), cluster)
  })

  it('completes a list in small pages', async () => {
    const whole = new Set(await names('pods', '-A'))
    const paged = await names('pods', '-A', '--chunk-size=25')
    assert.equal(new Set(paged.map((name) => `${name}`)).size, new Set(paged).size)
    assert.ok(paged.length >= whole.size * 0.9)
  })

  async function names(...args: string[]): Promise<string[]> {
    return (await kubectlOk('get', ...args, '-o', 'name')).trim().split('\n')
  }

  it('refuses pages of other sites, whatever name they reach it under', async () => {
    const port = new URL(demo.url).port
    const refused: Record<string, string>[] = [
      { host: 'evil.example' },
      { host: `evil.example:${port}` },
      { host: '127.0.0.1.evil.example' },
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${Number(port) + 1}` },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of refused) {
      for (const path of [`${CACHE}/api/v1/pods`, `${PROXY}/api/v1/pods`, `${QUERY}?q=x`, '/metrics', '/version']) {
        const answer = await demo.request(path, { headers })
        assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`)
        assert.equal((answer.json() as { reason: string }).reason, 'Forbidden')
        assert.equal(answer.headers['access-control-allow-origin'], undefined)
      }
    }
    for (const headers of [{ host: `localhost:${port}` }, { host: `[::1]:${port}` }, { origin: demo.url }]) {
      assert.equal((await demo.request('/version', { headers })).status, 200, JSON.stringify(headers))
    }
  })

  it('is read-only', async () => {
    const registry = { apiVersion: 'search.karmada.io/v1alpha1', kind: 'ResourceRegistry', metadata: { name: 'mine' } }
    const { metadata } = await podOfOneCluster()
    const pod = `${PROXY}/api/v1/namespaces/${metadata.namespace!}/pods/${metadata.name}`
    const writes: [string, string, object?][] = [
      ['POST', `${BASE}/resourceregistries`, registry],
      ['PUT', `${BASE}/resourceregistries/everything`, registry],
      ['DELETE', `${BASE}/resourceregistries/everything`],
      ['DELETE', `${BASE}/resourceregistries`],
      ['DELETE', pod],
      ['POST', `${pod}/eviction`, {}],
      ['POST', `${pod}/exec?command=ls`],
      ['POST', `${PROXY}/api/v1/namespaces/default/configmaps`, { metadata: { name: 'mine' } }],
      ['DELETE', `${PROXY}/api/v1/namespaces/default/configmaps`],
    ]
    for (const [method, path, body] of writes) {
      const answer = await demo.request(path, { method, ...(body === undefined ? {} : { body }) })
      assertRefused(answer, `${method} ${path}`)
    }
    const registries = await list(`${BASE}/resourceregistries`)
    assert.deepEqual(
      registries.items.map(({ metadata }) => metadata.name),
      ['everything'],
    )
    const { code, stderr } = await kubectl('delete', 'pod', '-n', metadata.namespace!, metadata.name)
    assert.equal(code, 1)
    assert.match(stderr, /not forwarded|read-only/)
  })

  /** One whose name stands in no other cluster, so that a write would have one aim. */
  async function podOfOneCluster(): Promise<Item> {
    const { items } = await list(`${CACHE}/api/v1/pods`)
    const keyOf = ({ metadata }: Item): string => `${metadata.namespace!}/${metadata.name}`
    const counts = countBy(items.map(keyOf))
    return items.find((item) => counts.get(keyOf(item)) === 1 && /Running/.test(JSON.stringify(item)))!
  }

  it('writes no log line of a fault while all that happened', () => {
    assert.deepEqual(faultsOf(demo), [])
  })
})

/** Warnings and errors it has logged. */
function faultsOf(demo: LocalProcess): LogRecord[] {
  return demo.records().filter(({ level }) => level >= 40)
}

interface SearchAnswer {
  readonly kind: string
  readonly total: number
  readonly totalIsExact: boolean
  readonly items: readonly { readonly object: Item }[]
  readonly facets: Readonly<
    Record<string, { readonly values: readonly { readonly value: string; readonly count: number }[] }>
  >
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function assertRefused({ status, text }: TestResponse, what: string): void {
  assert.ok([403, 405, 409, 501].includes(status), `${what}: ${status} ${text}`)
  assert.equal((JSON.parse(text) as { kind: string }).kind, 'Status', what)
}

describe('how fleetsearch demo ends', () => {
  it('drains at SIGTERM: ends watches cleanly, leaves no file, exits 0, and starts again on the same port', async () => {
    const demo = await startLocal('demo')
    const port = new URL(demo.url).port
    try {
      const watch = demo.request(`${PROXY}/api/v1/pods?watch=true`)
      await delay(500)
      const startedMs = performance.now()
      assert.equal(await demo.end(), 0)
      assert.ok(performance.now() - startedMs < SOON_MS, 'nobody holds it')
      // Rejects where the stream was cut instead of ended.
      const { text } = await watch
      const events = text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type)
      assert.ok(events.filter((type) => type === 'ADDED').length > 100)
      // Its own end is no end of the clusters: a client that resumes must find what it had.
      assert.ok(events.filter((type) => type === 'DELETED').length < 20)
      assert.deepEqual(readdirSync(demo.temporary), [])
      assert.deepEqual(faultsOf(demo), [])
    } finally {
      await demo.stop()
    }
    const second = await startLocal('demo', { flags: [`--port=${port}`] })
    try {
      assert.equal((await second.request(`${CACHE}/api/v1/pods`)).status, 200)
      assert.equal(await second.end(), 0)
    } finally {
      await second.stop()
    }
  })

  it('does not wait for ever for a client that never ends its request', async () => {
    const demo = await startLocal('demo', { until: 'listening' })
    const stuck = await halfRequest(demo)
    try {
      const startedMs = performance.now()
      assert.equal(await demo.end(), 0)
      assert.ok(performance.now() - startedMs < DRAIN_MS)
    } finally {
      stuck.destroy()
      await demo.stop()
    }
  })

  it('ends at once, with 1, at the second signal', async () => {
    const demo = await startLocal('demo', { until: 'listening' })
    const stuck = await halfRequest(demo)
    try {
      demo.process.signal('TERM')
      await delay(500)
      assert.ok(demo.process.running, 'it waits for the open request')
      const startedMs = performance.now()
      assert.equal(await demo.end(), 1)
      assert.ok(performance.now() - startedMs < 2_000)
    } finally {
      stuck.destroy()
      await demo.stop()
    }
  })

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`ends with the npm that started it, at its ${signal}, and leaves no file`, async () => {
      const temporary = await mkdtemp(path.join(tmpdir(), 'fleetsearch-npm-test-'))
      const npm = spawn('npm', ['start', '--', '--port=0', '--clusters=1'], {
        cwd: path.join(import.meta.dirname, '../..'),
        env: { ...process.env, TMPDIR: temporary },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let output = ''
      npm.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
      const ended = once(npm.stdout, 'close')
      const left = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('fleetsearch-')) // npm has its own
      try {
        await until(() => /listens on (http:\S+)/.test(output), 'the welcome', 60_000)
        assert.equal(left().length, 1)
        npm.kill(signal)
        await ended // by the last of those that hold it
        await until(() => left().length === 0, 'the end of the program')
      } finally {
        npm.kill('SIGKILL')
        await rm(temporary, { recursive: true, force: true, maxRetries: 3 })
      }
    })
  }

  it('says that a port is in use, and exits 1', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const { port } = server.address() as AddressInfo
    try {
      const { code, stdout, stderr } = await runProgram(['demo', `--port=${port}`])
      assert.equal(code, 1)
      assert.equal(stdout, '')
      const message = stderr.trimEnd().split('\n').at(-1) ?? ''
      const advice = 'the port is in use by another program; choose another with --port ("'
      assert.ok(message.startsWith(`fleetsearch: cannot listen on 127.0.0.1:${port}: ${advice}`), message)
    } finally {
      server.close()
    }
  })

  it('names every fault of its command line at once, and exits 2', async () => {
    const { code, stderr } = await runProgram(['demo', '--port=99999', '--nonsense=1', '--clusters=none'])
    assert.equal(code, 2)
    for (const flag of ['--port', '--nonsense', '--clusters']) assert.match(stderr, new RegExp(flag))
  })
})

/** A request whose headers never end; resolves when the server has begun to read it. */
async function halfRequest({ url, request }: LocalProcess): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n')
  // An answer to somebody who came later.
  for (let turn = 0; turn < 3; turn++) await request('/livez')
  return socket
}

/**
 * exec, cp, attach, port-forward and logs with real kubectls through `fleetsearch serve`, behind the real aggregator and
 * straight to it, in two real members: member1 speaks WebSockets, member2 only SPDY, behind an HTTP CONNECT proxy.
 */
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { request } from 'undici'
import { serveProxy, type ProxyLog, type TestServer } from '../fleet/test-server.ts'
import { BASE, PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import type { KarmadaFleet, ServeProcess } from '../support/karmada-fleet.ts'
import { binaries } from '../support/real-parts/binaries.ts'
import {
  createTestClient,
  kubeconfig,
  startKubelet,
  tryKubectl,
  type Kubelet,
  type KubectlOptions,
  type KubectlResult,
  type RealCluster,
  type TestClient,
} from '../support/real-parts/index.ts'

const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }

const CLIENTS: readonly { readonly name: string; readonly options: Pick<KubectlOptions, 'part' | 'env'> }[] = [
  { name: 'kubectl 1.36 (WebSocket)', options: {} },
  { name: 'kubectl 1.36 (SPDY)', options: { env: SPDY } },
  { name: 'kubectl 1.29 (SPDY)', options: { part: 'kubectl-1.29' } },
]

const MIB_50 = 50 * 1024 * 1024
const SPDY_ONLY =
  '--feature-gates=TranslateStreamCloseWebsocketRequests=false,PortForwardWebsockets=false,ExtendWebSocketsToKubelet=false'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe('sessions through serve', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess
  let proxy: TestServer
  const started = new AsyncDisposableStack()
  const tunnels: ProxyLog[] = []
  const kubelets: Kubelet[] = []
  let member1: RealCluster
  let member2: RealCluster
  let direct: TestClient
  const routes: { readonly name: string; readonly kubeconfig: string }[] = []

  before(async () => {
    const flags = { member2: [SPDY_ONLY] }
    fleet = started.adopt(await startKarmadaFleet(['member1', 'member2'], { joined: [], flags }), (each) => each.stop())
    ;[member1, member2] = fleet.members as [RealCluster, RealCluster]
    proxy = started.use(await serveProxy(tunnels))
    await fleet.join(member1)
    await fleet.join(member2, { spec: { proxyURL: proxy.url, proxyHeader: { 'X-Tunnel': 'fleet' } } })
    for (const [member, pod] of [
      [member1, 'one'],
      [member2, 'two'],
    ] as const) {
      const kubelet = started.adopt(await startKubelet(member), (each) => each.stop())
      kubelets.push(kubelet)
      for (const name of [pod, 'both']) await kubelet.run(name)
      writeFileSync(path.join(kubelet.folder, 'app.log'), `log of ${member.name}\n`)
    }
    serve = started.adopt(await startServe(fleet.host), (each) => each.stop())
    const { certPem, keyPem } = fleet.host.pki.admin
    direct = started.adopt(createTestClient({ url: serve.url, caPem: serve.caPem, certPem, keyPem }), (each) =>
      each.close(),
    )
    await fleet.register('pods', { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] })
    const { host } = fleet
    const write = (name: string, entry: Parameters<typeof kubeconfig>[0]): void => {
      const file = path.join(host.folder, name)
      writeFileSync(file, kubeconfig(entry))
      routes.push({ name, kubeconfig: file })
    }
    write('behind-the-aggregator', {
      name: 'fleet',
      url: host.url + PROXY,
      caPem: host.caPem,
      token: host.adminToken,
    })
    write('straight', { name: 'fleet', url: serve.url + PROXY, caPem: serve.caPem, certPem, keyPem })
    await until(
      async () => (await kubectl(['get', 'pods', '-o', 'name'])).stdout.split('\n').length === 5,
      'the pods of both',
    )
  })

  after(() => started.disposeAsync())

  function kubectl(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    return tryKubectl(args, { kubeconfig: routes[0]!.kubeconfig, ...options })
  }

  async function metric(pattern: RegExp): Promise<number> {
    const { text } = await direct.request('/metrics')
    return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0)
  }

  const openStreams = (): Promise<number> => metric(/^fleetsearch_streams_open\{[^}]*\} (\d+)$/gm)
  const openRequests = (): Promise<number> =>
    metric(/^apiserver_current_inflight_requests\{request_kind="watch"\} (\d+)$/gm)

  function sockets(): number {
    const folder = `/proc/${serve.process.pid}/fd`
    return readdirSync(folder).filter((fd) => {
      try {
        return readlinkSync(path.join(folder, fd)).startsWith('socket:')
      } catch {
        return false
      }
    }).length
  }

  /** Starts kubectl and leaves it running. */
  async function running(args: readonly string[], options: KubectlOptions): Promise<ChildProcess & { text(): string }> {
    const { part = 'kubectl', env } = options
    const parts = await binaries(part)
    const child = spawn(parts[part], ['--cache-dir', path.join(fleet.host.folder, 'cache'), ...args], {
      env: { PATH: process.env['PATH'] ?? '', HOME: fleet.host.folder, KUBECONFIG: options.kubeconfig ?? '', ...env },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (t: string) => (text += t))
    return Object.assign(child, { text: () => text })
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  for (const client of CLIENTS) {
    for (const at of [0, 1] as const) {
      const where = ['behind the aggregator', 'straight'][at]!
      describe(`${client.name}, ${where}`, () => {
        const options = (): KubectlOptions => ({ ...client.options, kubeconfig: routes[at]!.kubeconfig })
        const run = (args: readonly string[], more: KubectlOptions = {}): Promise<KubectlResult> =>
          kubectl(args, { ...options(), ...more })
        async function ok(args: readonly string[], more: KubectlOptions = {}): Promise<string> {
          const { code, stdout, stderr } = await run(args, more)
          assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
          return stdout
        }

        for (const pod of ['one', 'two']) {
          it(`D6: exec gives output, errors and the exit code: ${pod}`, async () => {
            const result = await run(['exec', pod, '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
            assert.deepEqual([result.code, result.stdout], [7, 'out\n'], result.stderr)
            assert.match(result.stderr, /^err\n/m)
            assert.match(result.stderr, /command terminated with exit code 7/)
          })

          it(`D6: exec takes standard input to its end: ${pod}`, async () => {
            const input = 'ä'.repeat(100_000)
            assert.equal(await ok(['exec', '-i', pod, '--', 'sh', '-c', 'wc -c'], { input }), '200000\n')
          })

          it(`D6: cp brings 50 MB there and back unchanged: ${pod}`, async () => {
            const sent = randomBytes(MIB_50)
            const folder = kubelets[pod === 'one' ? 0 : 1]!.folder
            const [from, back] = ['sent', 'back'].map((name) => path.join(fleet.host.folder, name)) as [string, string]
            writeFileSync(from, sent)
            await ok(['cp', from, `${pod}:${path.join(folder, 'received')}`])
            assert.equal(sha256(readFileSync(path.join(folder, 'received'))), sha256(sent))
            await ok(['cp', `${pod}:${path.join(folder, 'received')}`, back])
            assert.equal(sha256(readFileSync(back)), sha256(sent))
          })

          it(`D6: port-forward serves several connections at once: ${pod}`, async () => {
            const body = randomBytes(1_000_000)
            const server = createServer((_request, response) => response.end(body))
            await once(server.listen(0, '127.0.0.1'), 'listening')
            const { port } = server.address() as AddressInfo
            const forward = await running(['port-forward', pod, `:${port}`], options())
            try {
              await until(async () => /Forwarding from 127\.0\.0\.1:\d+/.test(forward.text()), 'the forward')
              const local = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(forward.text())?.[1]
              const get = async (): Promise<string> => {
                const answer = await request(`http://127.0.0.1:${local}/`, { reset: true })
                return sha256(Buffer.from(await answer.body.arrayBuffer()))
              }
              assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(get)), Array(5).fill(sha256(body)), forward.text())
            } finally {
              await end(forward)
              server.closeAllConnections()
              server.close()
            }
          })
        }

        it('attach talks to the process that runs', async () => {
          assert.equal(await ok(['attach', '-i', 'one'], { input: 'a\nb\n' }), 'heard a\nheard b\n')
        })

        it('a terminal has the size of the caller’s, and follows it', async () => {
          const { part = 'kubectl' } = options()
          const parts = await binaries(part)
          const remote =
            'until [ "$(stty size)" = "31 97" ]; do sleep 0.02; done; echo size-$((1 + 1)); ' +
            'until [ "$(stty size)" = "50 120" ]; do sleep 0.02; done; echo followed-$((1 + 1))'
          const command =
            'stty rows 31 cols 97; (until grep -q size-2 "$SEEN"; do sleep 0.05; done; stty -F /dev/tty rows 50 cols 120) & ' +
            `"$KUBECTL" exec -it one -- sh -c '${remote}'`
          const seen = path.join(fleet.host.folder, `seen-${at}-${CLIENTS.indexOf(client)}`)
          writeFileSync(seen, '')
          const { stdout } = await promisify(execFile)('script', ['-qefc', command, seen], {
            env: {
              PATH: process.env['PATH'] ?? '',
              HOME: fleet.host.folder,
              KUBECONFIG: routes[at]!.kubeconfig,
              KUBECTL: parts[part],
              SEEN: seen,
              ...client.options.env,
            },
            timeout: 60_000,
          })
          assert.match(stdout, /size-2\r?\nfollowed-2/)
        })

        it('D8: logs -f shows each line as it is written, and is gone upstream when kubectl is', async () => {
          const before = await openRequests()
          const log = path.join(kubelets[0]!.folder, 'app.log')
          const follow = await running(['logs', '-f', 'one'], options())
          try {
            await until(async () => follow.text().includes('log of member1\n'), 'the first line')
            for (const n of [1, 2, 3]) {
              const line = `line ${n} of ${client.name} ${where}\n`
              appendFileSync(log, line)
              await until(async () => follow.text().endsWith(line), `line ${n}`, 1_000)
            }
          } finally {
            await end(follow)
          }
          await until(async () => (await openRequests()) <= before, 'the end upstream', 5_000)
        })
      })
    }
  }

  it('D6: the member behind the proxy was reached through it alone, with the headers of its cluster', async () => {
    const target = new URL(member2.url).host
    assert.ok(tunnels.length > 10)
    assert.deepEqual([...new Set(tunnels.map((tunnel) => tunnel.target))], [target])
    assert.ok(tunnels.every(({ headers }) => headers['x-tunnel'] === 'fleet'))
    // It answered WebSockets with a plain refusal, by which kubectl fell back.
    assert.ok((await metric(/^fleetsearch_streams_total\{protocol="websocket",code="[45]\d\d"\} (\d+)$/gm)) > 0)
    assert.ok((await metric(/^fleetsearch_streams_total\{protocol="websocket",code="101"\} (\d+)$/gm)) > 0)
    assert.ok((await metric(/^fleetsearch_streams_total\{protocol="spdy\/3.1",code="101"\} (\d+)$/gm)) > 0)
    await until(async () => (await openStreams()) === 0, 'every session is over')
  })

  it('D1: exec and log of a pod that both have are refused, until one is chosen or it is gone', async () => {
    for (const { options } of CLIENTS) {
      for (const args of [
        ['exec', 'both', '--', 'true'],
        ['logs', 'both'],
      ]) {
        const refused = await kubectl(args, options)
        assert.equal(refused.code, 1)
        assert.match(refused.stderr, /member1, member2/)
      }
    }
    const chosen = ['--server', `${fleet.host.url}${BASE}/proxying/cluster.member2/proxy`]
    assert.equal((await kubectl([...chosen, 'logs', 'both'])).stdout, 'log of member2\n')
    assert.equal((await kubectl([...chosen, 'exec', 'both', '--', 'sh', '-c', 'exit 9'])).code, 9)
    await member2.kubectl(['delete', 'pod', 'both', '--force', '--grace-period=0'])
    assert.match((await kubectl(['logs', 'both'])).stdout, /^log of member1\n/)
    assert.equal((await kubectl(['exec', 'both', '--', 'sh', '-c', 'exit 3'])).code, 3)
  })

  it('D8: an exec that fails is alone in that: watches on the client’s one connection go on', async () => {
    const session: ClientHttp2Session = connectHttp2(fleet.host.url, { ca: fleet.host.caPem })
    const watches = [1, 2, 3].map(() => {
      const stream = session.request({
        ':path': `${PROXY}/api/v1/pods?watch=true`,
        authorization: `Bearer ${fleet.host.adminToken}`,
      })
      let text = ''
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      return { stream, text: () => text }
    })
    try {
      await until(async () => watches.every((watch) => watch.text().includes('"two"')), 'the watches')
      const failed = await kubectl(['exec', 'one', '--', 'no-such-shell'])
      assert.equal(failed.code, 1)
      assert.match(failed.stderr, /no-such-shell/)
      await member1.kubectl(['label', 'pod', 'one', 'seen=yes'])
      await until(async () => watches.every((watch) => watch.text().includes('"seen":"yes"')), 'events on every watch')
      assert.ok(watches.every(({ stream }) => !stream.closed))
    } finally {
      session.destroy()
    }
  })

  it('a caller without the right in the member is refused by it', async () => {
    const rules = [{ apiGroups: ['search.karmada.io'], resources: ['proxying', 'proxying/proxy'], verbs: ['*'] }]
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const metadata = { name: 'viewer-proxies' }
    const apiGroup = 'rbac.authorization.k8s.io'
    await fleet.host.ok(`${rbac}/clusterroles`, { body: { metadata, rules } })
    const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name }
    const subjects = [{ apiGroup, kind: 'Group', name: 'viewers' }]
    await fleet.host.ok(`${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } })
    const chosen = `${fleet.host.url}${BASE}/proxying/cluster.member1/proxy`
    const args = ['--server', chosen, '--token', 'viewer-token', 'exec', 'one', '--', 'true']
    const file = path.join(fleet.host.folder, 'no-user')
    writeFileSync(file, kubeconfig({ name: 'none', url: chosen, caPem: fleet.host.caPem }))
    for (const { options } of CLIENTS) {
      const { code, stderr } = await kubectl(args, { ...options, kubeconfig: file })
      assert.equal(code, 1)
      assert.match(stderr, /User "viewer" cannot (get|create) resource "pods(\/exec)?"/)
    }
  })

  it('a member that hangs gives an error in bounded time, and no connection is left', async () => {
    await until(async () => (await openStreams()) === 0, 'nothing is open')
    const baseline = sockets()
    const under = await running(['exec', 'one', '--', 'sleep', '600'], { kubeconfig: routes[0]!.kubeconfig })
    await until(async () => (await openStreams()) === 1, 'the exec')
    const watch = await running(['get', 'pods', '-w', '-o', 'name'], { kubeconfig: routes[0]!.kubeconfig })
    await until(async () => watch.text().includes('pod/two'), 'the watch')
    await member1.kill('STOP')
    try {
      const startedMs = performance.now()
      const list = direct.request(`${PROXY}/api/v1/pods?consistency=strong`)
      const { code, stderr } = await kubectl(['exec', 'one', '--', 'true'], { env: SPDY })
      assert.equal(code, 1)
      assert.match(stderr, /cluster member1 does not answer/)
      assert.ok(performance.now() - startedMs < 45_000)
      assert.equal((await kubectl(['exec', 'two', '--', 'sh', '-c', 'exit 5'])).code, 5, 'others are not concerned')
      const { status, headers, json } = await list
      assert.equal(status, 200)
      assert.match(String(headers['warning']), /1 of 2 clusters is missing from this answer: member1/)
      const listed = json() as { items: { metadata: { name: string } }[] }
      assert.deepEqual(
        listed.items.map(({ metadata }) => metadata.name),
        ['two'],
      )
      const seen = watch.text().length
      await member2.kubectl(['label', 'pod', 'two', 'meanwhile=yes'])
      await until(async () => watch.text().slice(seen) === 'pod/two\n', 'the event of the other one')
      await end(watch)
      await end(under, 'SIGKILL')
      await until(async () => (await openStreams()) === 0, 'the end of the one under way', 2_000)
    } finally {
      await member1.kill('CONT')
    }
    await until(async () => (await kubectl(['exec', 'one', '--', 'true'])).code === 0, 'it answers again')
    // A read or two may have opened a connection of its own to a member meanwhile.
    await until(async () => sockets() <= baseline + 4, 'the connections are closed')
  })
})

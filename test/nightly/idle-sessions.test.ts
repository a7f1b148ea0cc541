/**
 * Exec sessions in which nothing is said for ten minutes, in a member that is reached directly and in one behind an HTTP
 * CONNECT proxy: they are open all the time, and go on afterwards. kubectl pings; the WebSockets here do not.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import path from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { serveProxy, type ProxyLog } from '../fleet/test-server.ts'
import { PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import { binaries } from '../support/real-parts/binaries.ts'
import { kubeconfig, startKubelet, tryKubectl, type RealCluster } from '../support/real-parts/index.ts'
import { askUpgrade } from '../support/upgrade-client.ts'

const IDLE_MS = 600_000
const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' }

/** A session under way: what it is told comes back. */
interface Session {
  readonly name: string
  readonly open: boolean
  says(line: string): void
  heard(): string
  /** Ends it; resolves when it is over. */
  end(): Promise<void>
}

it('D6: ten silent minutes end no session, through an HTTP CONNECT proxy neither', async (t) => {
  const tunnels: ProxyLog[] = []
  await using started = new AsyncDisposableStack()
  const fleet = started.adopt(await startKarmadaFleet(['member1', 'member2'], { joined: [] }), (each) => each.stop())
  const [member1, member2] = fleet.members as [RealCluster, RealCluster]
  const proxy = started.use(await serveProxy(tunnels))
  for (const [member, pod] of [
    [member1, 'one'],
    [member2, 'two'],
  ] as const) {
    const kubelet = started.adopt(await startKubelet(member), (each) => each.stop())
    await kubelet.run(pod)
  }
  await fleet.join(member1)
  await fleet.join(member2, { spec: { proxyURL: proxy.url } })
  const serve = started.adopt(await startServe(fleet.host), (each) => each.stop())
  const sessions: Session[] = []
  started.defer(async () => {
    for (const session of sessions) await session.end()
  })
  await fleet.register('pods', { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] })
  const { host } = fleet
  const file = path.join(host.folder, 'behind-the-aggregator')
  writeFileSync(file, kubeconfig({ name: 'fleet', url: host.url + PROXY, caPem: host.caPem, token: host.adminToken }))
  for (const pod of ['one', 'two']) {
    await until(async () => (await tryKubectl(['exec', pod, '--', 'true'], { kubeconfig: file })).code === 0, pod)
    sessions.push(await webSocket(pod, host.url, host.caPem, host.adminToken))
    sessions.push(await webSocket(pod, serve.url, serve.caPem, host.adminToken))
    sessions.push(await ofKubectl(pod, file, host.folder))
  }
  await allAnswer(sessions, 'before')
  const beginning = tunnels.length
  for (let slept = 0; slept < IDLE_MS; slept += IDLE_MS / 10) {
    await delay(IDLE_MS / 10)
    const closed = sessions.filter(({ open }) => !open).map(({ name }) => name)
    assert.deepEqual(closed, [], `after ${slept + IDLE_MS / 10} ms`)
  }
  await allAnswer(sessions, 'afterwards')
  t.diagnostic(`${sessions.length} sessions were silent for ${IDLE_MS / 1000} s; tunnels: ${beginning}`)
  assert.ok(beginning > 0 && tunnels.every(({ target }) => target === new URL(member2.url).host))
})

async function allAnswer(sessions: readonly Session[], word: string): Promise<void> {
  for (const session of sessions) session.says(word)
  for (const { name, heard } of sessions) await until(async () => heard().includes(word), `${name} ${word}`, 10_000)
}

async function ofKubectl(pod: string, kubeconfigPath: string, home: string): Promise<Session> {
  const { kubectl } = await binaries('kubectl')
  const child: ChildProcess = spawn(kubectl, ['exec', '-i', pod, '--', 'cat'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, KUBECONFIG: kubeconfigPath, ...SPDY },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  const isOpen = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    name: `kubectl in ${pod}`,
    get open() {
      return isOpen()
    },
    says: (line) => void child.stdin!.write(`${line}\n`),
    heard: () => text,
    async end() {
      if (!isOpen()) return
      const exited = once(child, 'exit')
      child.stdin!.end()
      const [code] = (await exited) as [number]
      assert.equal(code, 0)
    },
  }
}

/** Without a ping of its own, so that nothing at all passes. */
async function webSocket(pod: string, server: string, caPem: string, token: string): Promise<Session> {
  const query = 'command=cat&stdin=true&stdout=true'
  const { status, socket, body } = await askUpgrade({
    url: `${server}${PROXY}/api/v1/namespaces/default/pods/${pod}/exec?${query}`,
    protocol: 'websocket',
    caPem,
    headers: {
      authorization: `Bearer ${token}`,
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16, 7).toString('base64'),
      'sec-websocket-protocol': 'v4.channel.k8s.io',
    },
  })
  assert.equal(status, 101, body)
  const open = socket as Socket
  let text = ''
  open.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  return {
    name: `WebSocket in ${pod} by ${server}`,
    get open() {
      return !open.destroyed && open.readable
    },
    says: (line) => void open.write(frame(`\0${line}\n`)),
    heard: () => text,
    end: () => new Promise((resolve) => void (open.closed ? resolve() : open.once('close', () => resolve()).destroy())),
  }
}

/** Of a client, in one piece, masked by zeros (RFC 6455, 5.2). */
function frame(text: string): Buffer {
  const bytes = Buffer.from(text)
  assert.ok(bytes.length < 126)
  return Buffer.concat([Buffer.from([0x82, 0x80 + bytes.length, 0, 0, 0, 0]), bytes])
}

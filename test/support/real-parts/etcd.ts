/**
 * A real etcd alone, on free ports of 127.0.0.1, with TLS or without, of one member or more. Tests look into it by its
 * JSON gateway, so that what they see does not pass through the client under test.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createAuthority, type Authority } from '../certificates.ts'
import { freePorts } from '../free-port.ts'
import { binaries } from './binaries.ts'
import { startGuarded, type GuardedProcess } from './guarded-process.ts'
import { createTestClient, type TestClient } from './http.ts'

export interface EtcdOptions {
  /** Serving over TLS, and asking for a client certificate of the same authority. Default: plain. */
  readonly tls?: boolean
  readonly members?: number
  readonly flags?: readonly string[]
}

export interface EtcdMember {
  readonly url: string
  readonly process: GuardedProcess
  /** SIGKILL; `start` brings it back on the same port with its data. */
  kill(): Promise<void>
  start(options?: { readonly fresh?: boolean }): Promise<void>
}

export interface RealEtcd {
  readonly members: readonly EtcdMember[]
  readonly urls: readonly string[]
  readonly authority: Authority
  /** Paths of PEM files for `--etcd-cafile`, `--etcd-certfile`, `--etcd-keyfile`. */
  readonly files: { readonly caFile: string; readonly certFile: string; readonly keyFile: string }
  readonly folder: string
  /** Returns the revision. */
  put(key: string, value: string): Promise<number>
  get(key: string): Promise<{ readonly value: string; readonly modRevision: string } | undefined>
  delete(key: string): Promise<void>
  /** Forgets all revisions before the present one. */
  compact(): Promise<void>
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 30_000

export async function startEtcd({ tls = false, members: count = 1, flags = [] }: EtcdOptions = {}): Promise<RealEtcd> {
  const { etcd } = await binaries('etcd')
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-etcd-'))
  const file = (name: string): string => path.join(folder, name)
  const authority = await createAuthority('etcd-ca')
  const serving = await authority.issue({ commonName: 'etcd', dnsNames: ['localhost'], ips: ['127.0.0.1'] })
  const client = await authority.issue({ commonName: 'karmada-search', usages: ['clientAuth'] })
  await Promise.all([
    writeFile(file('ca.crt'), authority.certPem),
    writeFile(file('server.crt'), serving.certPem),
    writeFile(file('server.key'), serving.keyPem, { mode: 0o600 }),
    writeFile(file('client.crt'), client.certPem),
    writeFile(file('client.key'), client.keyPem, { mode: 0o600 }),
  ])
  const ports = await freePorts(count * 2)
  const clientUrls = Array.from({ length: count }, (_, i) => `${tls ? 'https' : 'http'}://127.0.0.1:${ports[2 * i]!}`)
  const peerUrls = Array.from({ length: count }, (_, i) => `http://127.0.0.1:${ports[2 * i + 1]!}`)
  const tlsFlags = [
    `--cert-file=${file('server.crt')}`,
    `--key-file=${file('server.key')}`,
    `--trusted-ca-file=${file('ca.crt')}`,
    '--client-cert-auth',
  ]
  const spawn = (i: number): Promise<GuardedProcess> =>
    startGuarded({
      command: etcd,
      args: [
        `--name=m${i}`,
        `--data-dir=${file(`data-${i}`)}`,
        `--listen-client-urls=${clientUrls[i]!}`,
        `--advertise-client-urls=${clientUrls[i]!}`,
        `--listen-peer-urls=${peerUrls[i]!}`,
        `--initial-advertise-peer-urls=${peerUrls[i]!}`,
        `--initial-cluster=${peerUrls.map((url, j) => `m${j}=${url}`).join(',')}`,
        '--unsafe-no-fsync',
        '--heartbeat-interval=50',
        '--election-timeout=500',
        '--log-level=warn',
        ...(tls ? tlsFlags : []),
        ...flags,
      ],
      logPath: file(`etcd-${i}.log`),
      folder,
    })
  const clients = clientUrls.map((url) =>
    createTestClient(tls ? { url, caPem: authority.certPem, certPem: client.certPem, keyPem: client.keyPem } : { url }),
  )
  const members: EtcdMember[] = []
  const processes = await Promise.all(clientUrls.map((_, i) => spawn(i)))
  for (const [i, url] of clientUrls.entries()) {
    members.push({
      url,
      get process() {
        return processes[i]!
      },
      kill: () => processes[i]!.kill(),
      async start({ fresh = false } = {}) {
        if (fresh) await rm(file(`data-${i}`), { recursive: true, force: true })
        processes[i] = await spawn(i)
        await untilHealthy(clients[i]!, processes[i])
      },
    })
  }
  await Promise.all(clients.map((each, i) => untilHealthy(each, processes[i]!)))
  return {
    members,
    urls: clientUrls,
    authority,
    files: { caFile: file('ca.crt'), certFile: file('client.crt'), keyFile: file('client.key') },
    folder,
    ...gateway(clients[0]!),
    async stop() {
      await Promise.all(processes.map((process) => process.kill()))
      await Promise.all(clients.map((each) => each.close()))
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function untilHealthy(client: TestClient, process: GuardedProcess): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    const answer = await client.request('/health', { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
    if (answer?.status === 200) return
    if (!process.running || performance.now() > deadline) throw new Error(`etcd is not healthy:\n${process.logTail()}`)
    await delay(50)
  }
}

function gateway(client: TestClient): Pick<RealEtcd, 'put' | 'get' | 'delete' | 'compact'> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const range = (key: string): Promise<Range> => client.ok('/v3/kv/range', { body: { key: base64(key) } })
  return {
    async put(key, value) {
      const answer = (await client.ok('/v3/kv/put', { body: { key: base64(key), value: base64(value) } })) as Range
      return Number(answer.header.revision)
    },
    async get(key) {
      const [kv] = (await range(key)).kvs ?? []
      if (kv === undefined) return undefined
      return { value: Buffer.from(kv.value, 'base64').toString('utf8'), modRevision: kv.mod_revision }
    },
    async delete(key) {
      await client.ok('/v3/kv/deleterange', { body: { key: base64(key) } })
    },
    async compact() {
      const { header } = await range('x')
      await client.ok('/v3/kv/compaction', { body: { revision: header.revision, physical: true } })
    },
  }
}

interface Range {
  readonly header: { readonly revision: string }
  readonly kvs?: readonly { readonly value: string; readonly mod_revision: string }[]
}

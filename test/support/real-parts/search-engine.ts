/** A real OpenSearch or Elasticsearch on a free port of 127.0.0.1: one node, nothing in it. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createAuthority } from '../certificates.ts'
import { freePorts } from '../free-port.ts'
import { startGuarded, type GuardedProcess } from './guarded-process.ts'
import { createTestClient, type TestClient } from './http.ts'

/** Names of build-search-engines.sh. The one with the security plugin serves over TLS and asks for a password. */
export const SEARCH_ENGINES = ['opensearch-2', 'opensearch-3', 'elasticsearch-8', 'elasticsearch-9'] as const
export type SearchEngineName = (typeof SEARCH_ENGINES)[number] | 'opensearch-2-security'

export interface SearchEngineUser {
  readonly username: string
  readonly password: string
}

export interface RealSearchEngine {
  readonly name: SearchEngineName
  readonly url: string
  /** Of the authority that signed its certificate; undefined where it serves without TLS. */
  readonly caPem: string | undefined
  /** May do everything; undefined where nobody has to say who he is. */
  readonly admin: SearchEngineUser | undefined
  /** May read everything and write nothing. */
  readonly reader: SearchEngineUser | undefined
  /** Looks into it past the client under test, as `admin`. */
  readonly client: TestClient
  readonly process: GuardedProcess
  /** SIGKILL; `start` brings it back on the same port with its data. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Two busy cores take 20 s to start one. */
const READY_TIMEOUT_MS = 120_000

export async function startSearchEngine(name: SearchEngineName): Promise<RealSearchEngine> {
  const built = await buildSearchEngine(name)
  const folder = await mkdtemp(path.join(tmpdir(), `fleetsearch-${name}-`))
  const file = (part: string): string => path.join(folder, part)
  const secure = name === 'opensearch-2-security'
  await mkdir(file('data'))
  await cp(path.join(built, 'config'), file('config'), { recursive: true })
  const caPem = secure ? await secureSettings(file('config')) : undefined
  const [port] = await freePorts(1)
  const url = `${secure ? 'https' : 'http'}://127.0.0.1:${String(port)}`
  const admin = secure ? { username: 'admin', password: 'admin' } : undefined
  const client = createTestClient({ url, http2: false, ...(caPem === undefined ? {} : { caPem }) })
  const asAdmin = withUser(client, admin)
  const spawn = (): Promise<GuardedProcess> =>
    startGuarded({
      command: path.join(import.meta.dirname, 'run-search-engine.sh'),
      args: [name, built, file('config'), file('data'), String(port)],
      logPath: file('server.log'),
      folder,
    })
  let process = await spawn()
  const start = async (): Promise<void> => {
    if (!process.running) process = await spawn()
    await untilReady(asAdmin, process)
  }
  const stop = async (): Promise<void> => {
    await process.kill()
    await client.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  await start().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    name,
    url,
    caPem,
    admin,
    reader: secure ? { username: 'readall', password: 'readall' } : undefined,
    client: asAdmin,
    get process() {
      return process
    },
    kill: () => process.kill(),
    start,
    stop,
  }
}

/** Its folder, fetched where it is missing (minutes). */
async function buildSearchEngine(name: SearchEngineName): Promise<string> {
  const script = path.join(import.meta.dirname, 'build-search-engines.sh')
  const { stdout } = await promisify(execFile)(script, [name], { maxBuffer: 64 << 20 })
  return stdout.trim()
}

/** Certificates and the settings that name them; the demo users of the plugin have their name as their password. */
async function secureSettings(config: string): Promise<string> {
  const authority = await createAuthority('search-engine-ca')
  const { certPem, keyPem } = await authority.issue({
    commonName: 'localhost',
    dnsNames: ['localhost'],
    ips: ['127.0.0.1'],
  })
  const files = { 'ca.pem': authority.certPem, 'node.pem': certPem, 'node.key': keyPem }
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(config, name), text, { mode: 0o600 })
  const settings = ['transport', 'http'].flatMap((layer) => [
    `plugins.security.ssl.${layer}.pemcert_filepath=node.pem`,
    `plugins.security.ssl.${layer}.pemkey_filepath=node.key`,
    `plugins.security.ssl.${layer}.pemtrustedcas_filepath=ca.pem`,
  ])
  settings.push(
    'plugins.security.ssl.transport.enforce_hostname_verification=false',
    'plugins.security.ssl.http.enabled=true',
    'plugins.security.allow_default_init_securityindex=true',
    'plugins.security.nodes_dn.list=CN=localhost',
    'plugins.security.restapi.roles_enabled.list=all_access;security_rest_api_access',
  )
  await writeFile(path.join(config, 'settings.properties'), settings.join('\n'))
  return authority.certPem
}

function withUser(client: TestClient, user: SearchEngineUser | undefined): TestClient {
  if (user === undefined) return client
  const authorization = `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`
  return {
    request: (at, options) => client.request(at, { ...options, headers: { authorization, ...options?.headers } }),
    ok: (at, options) => client.ok(at, { ...options, headers: { authorization, ...options?.headers } }),
    close: () => client.close(),
  }
}

async function untilReady(client: TestClient, process: GuardedProcess): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  const health = '/_cluster/health?wait_for_status=yellow&timeout=1s'
  for (;;) {
    const answer = await client.request(health, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    if (answer?.status === 200) return
    if (!process.running || performance.now() > deadline) {
      throw new Error(`the search engine is not ready:\n${process.logTail(40)}`)
    }
    await delay(100)
  }
}

/**
 * Runs the credential plugin of a kubeconfig user (`aws eks get-token`, `gke-gcloud-auth-plugin`, `kubelogin`, …).
 * @kubernetes/client-node has a runner too; it tells the plugin nothing (`KUBERNETES_EXEC_INFO`), waits for ever for one
 * that hangs, and starts one for each request at once.
 * Source: client-go plugin/pkg/client/auth/exec/exec.go, client.authentication.k8s.io/v1.
 */
import { execFile } from 'node:child_process'
import type { Clock } from '../../util/clock.ts'
import { MemberError } from '../member-error.ts'
import { redact } from '../redact.ts'
import { fields, text } from '../fields.ts'
import type { KubeCluster, KubeExec } from './kubeconfig.ts'

export interface ExecCredential {
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

export interface ExecPluginOptions {
  readonly exec: KubeExec
  readonly cluster: KubeCluster
  /** PEM, for a plugin that asks to be told about its cluster. */
  readonly ca: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Default 60 000: a plugin may have to ask an identity provider over a slow network. */
  readonly timeoutMs?: number
}

const EARLY_MS = 10_000 // a credential that ends within a request's time is renewed before
const OUTPUT_LIMIT = 1024 * 1024
const GROUP = 'client.authentication.k8s.io/'

export class ExecPlugin {
  readonly #clock: Clock
  #known: { readonly credential: ExecCredential; readonly untilMs: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The credential, as long as it lasts; else a new one. Rejects with `MemberError` of code `auth`. */
  async credential(options: ExecPluginOptions): Promise<ExecCredential> {
    if (this.#known !== undefined && this.#clock.nowMs() < this.#known.untilMs) return this.#known.credential
    const { exec } = options
    if (exec.command === '') throw new MemberError('auth', 'the exec plugin has no command')
    if (exec.interactiveMode === 'Always') throw new MemberError('auth', `${exec.command} wants a terminal to ask on`)
    this.#known = parseCredential(exec, await run(options))
    return this.#known.credential
  }

  forget(): void {
    this.#known = undefined
  }
}

function run({ exec, cluster, ca, environment, timeoutMs = 60_000 }: ExecPluginOptions): Promise<string> {
  const env = { ...environment, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(exec, cluster, ca)) }
  const options = {
    env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: OUTPUT_LIMIT,
    windowsHide: true,
  } as const
  return new Promise((resolve, reject) => {
    const child = execFile(exec.command, [...exec.args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new MemberError('auth', failure(exec, error, stderr, timeoutMs)))
    })
    child.stdin?.on('error', () => undefined).end()
  })
}

function failure(
  exec: KubeExec,
  error: Error & { code?: unknown; killed?: boolean },
  stderr: string,
  ms: number,
): string {
  if (error.code === 'ENOENT') return redact(`exec plugin ${exec.command} is not installed. ${exec.installHint}`)
  if (error.killed === true) return `exec plugin ${exec.command} did not finish within ${ms} ms`
  const said = redact(stderr)
  return `exec plugin ${exec.command} failed (${String(error.code)})${said === '' ? '' : `: ${said}`}`
}

function execInfo(exec: KubeExec, cluster: KubeCluster, ca: string | undefined): object {
  const about = {
    server: cluster.server,
    ...(cluster.serverName === undefined ? {} : { 'tls-server-name': cluster.serverName }),
    ...(cluster.insecureSkipVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(cluster.proxyUrl === undefined ? {} : { 'proxy-url': cluster.proxyUrl }),
    ...(cluster.execConfig === undefined ? {} : { config: cluster.execConfig }),
  }
  return {
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: { interactive: false, ...(exec.provideClusterInfo ? { cluster: about } : {}) },
  }
}

function parseCredential(exec: KubeExec, output: string): { credential: ExecCredential; untilMs: number } {
  const bad = (what: string): MemberError => new MemberError('auth', `exec plugin ${exec.command}: ${what}`)
  let document: ReturnType<typeof fields>
  try {
    document = fields(JSON.parse(output))
  } catch {
    throw bad('its output is not JSON')
  }
  const apiVersion = text(document, 'apiVersion') ?? ''
  if (!apiVersion.startsWith(GROUP)) throw bad('its output is no ExecCredential')
  if (exec.apiVersion !== '' && apiVersion !== exec.apiVersion) {
    throw bad(`it answers in ${apiVersion}, the kubeconfig says ${exec.apiVersion}`)
  }
  const status = fields(document.status)
  const token = text(status, 'token')
  const cert = text(status, 'clientCertificateData')
  const key = text(status, 'clientKeyData')
  if ((cert === undefined) !== (key === undefined)) throw bad('it gives half of a certificate and key')
  if (token === undefined && cert === undefined) throw bad('it gives neither token nor certificate')
  const expires = Date.parse(text(status, 'expirationTimestamp') ?? '')
  return {
    credential: {
      ...(token === undefined ? {} : { token }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
    untilMs: Number.isNaN(expires) ? Infinity : expires - EARLY_MS,
  }
}

/**
 * Credentials of one kubeconfig context, kept current: files are read again, exec plugins run again when their token
 * ends, and after a 401 everything is forgotten (at most every half minute).
 */
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../util/clock.ts'
import { sameHeaders, sameTls, type CredentialSource, type Credentials, type TlsMaterial } from '../credentials.ts'
import { MemberError } from '../member-error.ts'
import { AuthProvider } from './auth-provider.ts'
import { ExecPlugin } from './exec-plugin.ts'
import type { KubeCluster, KubeContext, KubeUser } from './kubeconfig.ts'

export interface ContextCredentialsOptions {
  /** The context as it stands now; asked again whenever credentials are obtained. */
  readonly context: () => KubeContext | Promise<KubeContext>
  /** For exec plugins. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

const REREAD_MS = 10_000 // client-go re-reads token files each minute; a rotated file should not fail for so long
const FAILED_MS = 10_000 // a plugin that fails is not started for each of forty reflectors
const FORGET_EVERY_MS = 30_000

export class ContextCredentials implements CredentialSource {
  readonly #options: ContextCredentialsOptions
  readonly #plugin: ExecPlugin
  #provider: { readonly of: KubeUser['authProvider']; readonly auth: AuthProvider } | undefined
  #current: { readonly credentials: Promise<Credentials>; readonly untilMs: number } | undefined
  #forgotAtMs = -Infinity
  readonly #listeners = new Set<() => void>()
  /** What was obtained last; undefined before the first time and after a failure. */
  #last: Credentials | undefined
  #asked = false

  constructor(options: ContextCredentialsOptions) {
    this.#options = options
    this.#plugin = new ExecPlugin(options.clock)
  }

  /** One look-up serves all who ask meanwhile and for ten seconds after it, its failure too. */
  current(): Promise<Credentials> {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#current !== undefined && nowMs < this.#current.untilMs) return this.#current.credentials
    const credentials = this.#obtain()
    const entry = { credentials, untilMs: Infinity }
    this.#current = entry
    const expire = (afterMs: number): void => {
      if (this.#current === entry) this.#current = { ...entry, untilMs: this.#options.clock.monotonicMs() + afterMs }
    }
    credentials.then(
      (obtained) => {
        expire(REREAD_MS)
        this.#obtained(obtained)
      },
      () => {
        expire(FAILED_MS)
        this.#obtained(undefined)
      },
    )
    return credentials
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #obtained(credentials: Credentials | undefined): void {
    const last = this.#last
    const first = !this.#asked
    this.#last = credentials
    this.#asked = true
    if (first || credentials === undefined) return
    if (last !== undefined && sameHeaders(last.headers, credentials.headers) && sameTls(last.tls, credentials.tls))
      return
    for (const listener of [...this.#listeners]) listener()
  }

  rejected(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#forgotAtMs < FORGET_EVERY_MS) return
    this.#forgotAtMs = nowMs
    this.#current = undefined
    this.#plugin.forget()
    this.#provider?.auth.forget()
  }

  async #obtain(): Promise<Credentials> {
    const { cluster, user } = await this.#options.context()
    const [ca, cert, key] = await Promise.all([
      pem(cluster.caData, cluster.caFile),
      pem(user.certData, user.certFile),
      pem(user.keyData, user.keyFile),
    ])
    const exec =
      user.exec === undefined
        ? {}
        : await this.#plugin.credential({ exec: user.exec, cluster, ca, environment: this.#options.environment })
    const tls = tlsOf(cluster, { ca, cert: exec.cert ?? cert, key: exec.key ?? key })
    return { tls, headers: { ...impersonation(user), ...authorization(await this.#bearer(user, exec.token), user) } }
  }

  /** A token file goes before a token, both before plugins, as in client-go. */
  async #bearer(user: KubeUser, execToken: string | undefined): Promise<string | undefined> {
    if (user.tokenFile !== undefined) return `Bearer ${(await read(user.tokenFile)).trim()}`
    const token = user.token ?? execToken
    if (token !== undefined) return `Bearer ${token.trim()}`
    if (user.authProvider === undefined) return undefined
    if (this.#provider?.of !== user.authProvider) {
      this.#provider = { of: user.authProvider, auth: new AuthProvider(user.authProvider) }
    }
    return this.#provider.auth.authorization()
  }
}

function tlsOf(
  cluster: KubeCluster,
  pems: { ca: string | undefined; cert: string | undefined; key: string | undefined },
): TlsMaterial {
  const { ca, cert, key } = pems
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(cluster.insecureSkipVerify ? { insecureSkipVerify: true } : {}),
    ...(cluster.serverName === undefined ? {} : { serverName: cluster.serverName }),
  }
}

function authorization(bearer: string | undefined, user: KubeUser): Credentials['headers'] {
  if (bearer !== undefined) return { authorization: bearer }
  if (user.username === undefined) return {}
  const basic = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')
  return { authorization: `Basic ${basic}` }
}

/** Source: client-go transport/round_trippers.go, impersonatingRoundTripper. */
function impersonation(user: KubeUser): Credentials['headers'] {
  if (user.impersonate === undefined) return {}
  const extra = Object.entries(user.impersonateExtra).map(
    ([name, values]) => [`impersonate-extra-${encodeURIComponent(name).toLowerCase()}`, [...values]] as const,
  )
  return {
    'impersonate-user': user.impersonate,
    ...(user.impersonateGroups.length === 0 ? {} : { 'impersonate-group': [...user.impersonateGroups] }),
    ...(user.impersonateUid === undefined ? {} : { 'impersonate-uid': user.impersonateUid }),
    ...Object.fromEntries(extra),
  }
}

async function pem(data: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
  return file === undefined ? undefined : read(file)
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as { code?: string }
    throw new MemberError('auth', `cannot read ${file} (${code ?? 'unknown'})`, { cause: error })
  }
}

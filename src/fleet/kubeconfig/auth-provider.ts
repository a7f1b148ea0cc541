/**
 * The in-tree plugins that old kubeconfigs name (`oidc` with its token refresh, `azure`, `gcp`): left to
 * @kubernetes/client-node. It is loaded only here, and only when a user needs it: it costs 60 MB and half a second, most
 * of it for models of the API that nothing here uses.
 */
import { MemberError } from '../member-error.ts'
import { redact } from '../redact.ts'
import { fields, text, type Fields } from '../fields.ts'

type Headers = Record<string, unknown>

/** The part of client-node's KubeConfig that is called. */
interface HeaderSource {
  applyToHTTPSOptions(options: { headers?: Headers }): Promise<void>
}

const KNOWN = new Set(['oidc', 'azure', 'gcp'])

export class AuthProvider {
  readonly #provider: Fields
  #source: Promise<HeaderSource> | undefined

  constructor(provider: Fields) {
    this.#provider = provider
  }

  /** The value of `authorization`; undefined where the provider has no token. Rejects with `MemberError` of code `auth`. */
  async authorization(): Promise<string | undefined> {
    const name = text(this.#provider, 'name') ?? ''
    if (!KNOWN.has(name)) throw new MemberError('auth', `auth-provider ${JSON.stringify(name)} is not supported`)
    try {
      this.#source ??= open(this.#provider)
      const options: { headers?: Headers } = {}
      await (await this.#source).applyToHTTPSOptions(options)
      const header = options.headers?.Authorization
      return typeof header === 'string' ? header : undefined
    } catch (error) {
      this.#source = undefined
      throw new MemberError('auth', `auth-provider ${name}: ${redact((error as Error).message)}`)
    }
  }

  /** Starts over from what the kubeconfig says. */
  forget(): void {
    this.#source = undefined
  }
}

async function open(provider: Fields): Promise<HeaderSource> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  // The providers write what they renewed into the object they are given.
  const authProvider = { ...provider, config: { ...fields(provider.config) } }
  // Only headers are asked of it, so that the server does not matter.
  config.loadFromClusterAndUser(
    { name: 'member', server: 'https://member.invalid', skipTLSVerify: false },
    { name: 'user', authProvider },
  )
  return config as HeaderSource
}

/** How we prove ourselves to a member and it to us; obtained anew whenever a source says so. */
import { MemberError } from './member-error.ts'

/** PEM texts. Two materials of equal fields share their connections. */
export interface TlsMaterial {
  /** Authorities to trust; without it, those Node trusts. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly insecureSkipVerify?: boolean
  /** Name to send and to check, where it is not the host of the URL. */
  readonly serverName?: string
}

export interface Credentials {
  /** Lower-case names: `authorization`, `impersonate-user`, … */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly tls: TlsMaterial
}

export interface CredentialSource {
  /** What to use now. Cheap to call for each request. Rejects with `MemberError` of code `auth`. */
  current(): Promise<Credentials>
  /** The member said 401: forget what may be stale. The next `current` may give something else. Bounded in frequency. */
  rejected?(): void
  /** Calls back when `current` changed by itself, so that those who wait to retry need not wait longer. */
  onChange?(listener: () => void): () => void
}

/** Credentials that somebody replaces from outside (a Secret that is watched). */
export class ReplaceableCredentials implements CredentialSource {
  #credentials: Credentials
  readonly #listeners = new Set<() => void>()

  constructor(credentials: Credentials) {
    this.#credentials = credentials
  }

  current(): Promise<Credentials> {
    return Promise.resolve(this.#credentials)
  }

  replace(credentials: Credentials): void {
    this.#credentials = credentials
    for (const listener of [...this.#listeners]) listener()
  }

  /** Does nothing, and tells nobody, where they are the same. */
  replaceIfOther(credentials: Credentials): void {
    const { headers, tls } = this.#credentials
    if (!sameHeaders(headers, credentials.headers) || !sameTls(tls, credentials.tls)) this.replace(credentials)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}

/** What `current` gives where there are none to use: a `MemberError` of code `auth`. */
export function unusableCredentials(reason: string): Promise<never> {
  return Promise.reject(new MemberError('auth', reason))
}

/** Credentials for a server that wants none: loopback, tests. */
export const noCredentials: CredentialSource = { current: () => Promise.resolve({ headers: {}, tls: {} }) }

export function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.insecureSkipVerify === b.insecureSkipVerify &&
    a.serverName === b.serverName
  )
}

export function sameHeaders(a: Credentials['headers'], b: Credentials['headers']): boolean {
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => String(a[name]) === String(b[name]))
}

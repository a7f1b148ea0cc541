/** Addresses of engines as registries have them: what may be shown of them, and what is only for the engine. */
import type { EngineCredentials } from './engine-store.ts'

export interface EngineAddresses {
  /** Without credentials. */
  readonly urls: readonly string[]
  /** Those that stood in the first address that has any; a Secret's come before them. */
  readonly credentials: EngineCredentials
}

/** Throws `TypeError` for what is no URL, without showing it. */
export function readAddresses(addresses: readonly string[]): EngineAddresses {
  const urls: string[] = []
  let credentials: EngineCredentials = {}
  for (const address of addresses) {
    const url = parse(address)
    if (url.username !== '' && credentials.username === undefined) {
      credentials = { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
    }
    url.username = ''
    url.password = ''
    urls.push(url.href.replace(/\/$/, ''))
  }
  return { urls, credentials }
}

/** Host, port and path: two of them are the same engine where these are the same. */
export function placeOf(address: string): string {
  const { host, pathname } = parse(address)
  return host + pathname.replace(/\/$/, '')
}

function parse(address: string): URL {
  if (!URL.canParse(address)) throw new TypeError('an address is no URL')
  return new URL(address)
}

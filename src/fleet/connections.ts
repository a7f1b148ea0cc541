/**
 * The connections to one member: pooled by undici, direct or through a proxy, over TLS as the credentials say.
 *
 * HTTP/1.1, one connection for each watch: a connection that dies takes one watch with it, and a new request never lands
 * on it. Measured with 1,000 idle watches over TLS: 83 KB resident and 1.8 ms CPU to open for each; over HTTP/2 35 KB and
 * 0.5 ms, but one stalled connection stalls them all, and takes new requests too until a ping notices.
 *
 * TCP keep-alive notices a peer that vanished (packets dropped, host gone) in about 25 s; what it cannot see (a proxy that
 * stopped reading) ends by the requests' own idle time-outs.
 */
import { createSecureContext } from 'node:tls'
import { Agent, ProxyAgent, type Dispatcher, type buildConnector } from 'undici'
import { sameTls, type TlsMaterial } from './credentials.ts'
import { isSocks, socksConnector } from './socks-connector.ts'

export interface ProxySettings {
  /** `http:`, `https:`, `socks4:`, `socks5:`, …; user and password in it are sent as basic credentials. */
  readonly url: string
  /** Extra headers of the CONNECT request. */
  readonly headers?: Readonly<Record<string, string | string[]>>
}

const CONNECT_TIMEOUT_MS = 10_000 // as client-go's dialer of a kubeconfig proxy; a LAN answers in milliseconds
const KEEP_ALIVE_PROBE_AFTER_MS = 15_000 // then libuv probes once a second and gives up after 10
const IDLE_CONNECTION_MS = 60_000 // longer than discovery's polling, shorter than a kube-apiserver's 90 s

export class Connections {
  readonly #proxy: ProxySettings | undefined
  readonly #all = new Set<Dispatcher>()
  #current: { readonly tls: TlsMaterial; readonly dispatcher: Dispatcher } | undefined

  constructor(proxy: ProxySettings | undefined) {
    this.#proxy = proxy
  }

  /**
   * The dispatcher for these certificates. New ones apply to new connections; requests under way end as they began.
   * Throws what OpenSSL says of unusable PEM.
   */
  dispatcher(tls: TlsMaterial): Dispatcher {
    if (this.#current !== undefined && sameTls(this.#current.tls, tls)) return this.#current.dispatcher
    const dispatcher = this.#open(tls)
    const old = this.#current?.dispatcher
    this.#current = { tls, dispatcher }
    this.#all.add(dispatcher)
    if (old !== undefined) this.#retire(old)
    return dispatcher
  }

  /** Breaks every connection, those in use too. */
  async close(): Promise<void> {
    const all = [...this.#all]
    this.#all.clear()
    this.#current = undefined
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()))
  }

  #retire(dispatcher: Dispatcher): void {
    const forget = (): void => {
      this.#all.delete(dispatcher)
    }
    dispatcher.close().then(forget, forget)
  }

  #open(tls: TlsMaterial): Dispatcher {
    const options: Agent.Options = {
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0, // the client keeps its own, on an injected clock
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    }
    const socket = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_AFTER_MS }
    const member = { ...socket, ...connectionOptions(tls), allowH2: false }
    if (this.#proxy === undefined) return new Agent({ ...options, connect: member })
    if (isSocks(this.#proxy.url)) return new Agent({ ...options, connect: socksConnector(this.#proxy.url, member) })
    return new ProxyAgent({
      ...options,
      uri: this.#proxy.url,
      headers: { ...this.#proxy.headers },
      requestTls: member,
      proxyTls: { ...socket, allowH2: false },
      connectTimeout: CONNECT_TIMEOUT_MS,
    } as ProxyAgent.Options)
  }
}

/** One secure context for all connections: certificates are parsed once, and kept once. */
function connectionOptions(tls: TlsMaterial): buildConnector.BuildOptions {
  return {
    secureContext: createSecureContext({
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
      minVersion: 'TLSv1.2',
    }),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  }
}

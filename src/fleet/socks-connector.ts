/**
 * Connects through a SOCKS proxy (`proxy-url: socks5://…` of a kubeconfig; socks4 and the name-resolving socks4a, socks5h
 * too). undici 8 has an agent of its own for it, which warns at start that it is experimental and cannot reach a server
 * by IP address over TLS.
 */
import { SocksClient } from 'socks'
import { buildConnector } from 'undici'
import { MemberError } from './member-error.ts'
import { redact, redactUrl } from './redact.ts'

const DEFAULT_PORT = 1080

export function isSocks(url: string): boolean {
  return /^socks(4a?|5h?)?:/i.test(url)
}

/** A connector for undici: the tunnel first, then TLS with `member`'s settings inside it. */
export function socksConnector(proxyUrl: string, member: buildConnector.BuildOptions): buildConnector.connector {
  const proxy = new URL(proxyUrl)
  const upgrade = buildConnector(member)
  const version: 4 | 5 = proxy.protocol.startsWith('socks4') ? 4 : 5
  return (options, callback) => {
    const port = options.port === '' ? (options.protocol === 'https:' ? 443 : 80) : Number(options.port)
    SocksClient.createConnection({
      proxy: {
        host: proxy.hostname,
        port: proxy.port === '' ? DEFAULT_PORT : Number(proxy.port),
        type: version,
        ...(proxy.username === '' ? {} : { userId: decodeURIComponent(proxy.username) }),
        ...(proxy.password === '' ? {} : { password: decodeURIComponent(proxy.password) }),
      },
      command: 'connect',
      destination: { host: options.hostname, port },
      ...(member.timeout == null ? {} : { timeout: member.timeout }),
    }).then(
      ({ socket }) => {
        if (options.protocol === 'https:') upgrade({ ...options, httpSocket: socket }, callback)
        else callback(null, socket)
      },
      (error: unknown) => {
        // Made anew: the library's error carries the options, the password among them.
        callback(new MemberError('proxy', `${redactUrl(proxyUrl)}: ${redact((error as Error).message)}`), null)
      },
    )
  }
}

/**
 * The proxy that the environment asks for where a cluster names none: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go programs
 * (kubectl, Karmada) read them. Source: golang.org/x/net/http/httpproxy.
 */
import { BlockList, isIP } from 'node:net'

export type Environment = Readonly<Record<string, string | undefined>>

/** The proxy's URL for this server; undefined for none. Loopback is never proxied. */
export function environmentProxy(server: string, environment: Environment): string | undefined {
  if (!URL.canParse(server)) return undefined
  const { protocol, hostname, port } = new URL(server)
  const https = protocol === 'https:'
  const proxy = either(environment, https ? 'HTTPS_PROXY' : 'HTTP_PROXY')
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (proxy === '' || isLoopback(host)) return undefined
  const excluded = either(environment, 'NO_PROXY')
    .split(',')
    .some((rule) => excludes(rule.trim().toLowerCase(), host, port === '' ? (https ? '443' : '80') : port))
  if (excluded) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

function either(environment: Environment, name: string): string {
  return environment[name] ?? environment[name.toLowerCase()] ?? ''
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** `*`, an IP, a CIDR, `host`, `host:port`; `foo.com` means its subdomains too, `.foo.com` those alone. */
function excludes(rule: string, host: string, port: string): boolean {
  if (rule === '') return false
  if (rule === '*') return true
  if (rule.includes('/')) return inRange(rule, host)
  if (isIP(rule) !== 0) return rule === host
  const [, name = rule, rulePort] = /^(.*?)(?::(\d+))?$/.exec(rule) ?? []
  if (rulePort !== undefined && rulePort !== port) return false
  const bare = name.replace(/^\[|\]$/g, '').replace(/^\*/, '')
  return bare.startsWith('.') ? host.endsWith(bare) : host === bare || host.endsWith(`.${bare}`)
}

function inRange(cidr: string, host: string): boolean {
  const [network = '', bits = ''] = cidr.split('/')
  const family = isIP(network)
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const range = new BlockList()
  range.addSubnet(network, Number(bits), type)
  return range.check(host, type)
}

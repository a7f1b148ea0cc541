/**
 * Cross-origin requests of browsers (`--cors-allowed-origins`): which pages may read our answers.
 * Source: apiserver pkg/server/filters/cors.go; the check of patterns: pkg/server/options/server_run_options.go.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Sets the headers of an answer; true where that was the whole answer (a preflight). */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean

const HEADERS = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
}

/** A scheme, a host name of at most 253 letters and a port; longer ones are nobody's. */
const MAX_ORIGIN = 512

export function createCors(allowed: readonly RegExp[]): Cors {
  return (request, response) => {
    response.appendHeader('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || origin.length > MAX_ORIGIN || !allowed.some((pattern) => pattern.test(origin))) {
      return false
    }
    response.setHeader('access-control-allow-origin', origin)
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    if (request.method !== 'OPTIONS') return false
    response.writeHead(204).end()
    return true
  }
}

/** Go's, and either unknown to JavaScript or meant differently there. */
const OTHERWISE = /\[\[:|\\[ACQEzpP]|\(\?(?!:)/
/** JavaScript's alone: a Go program refuses them. */
const NOT_GO = /\\[1-9k]|\(\?[=!<]/

/**
 * A Go regular expression, of the part of that language which JavaScript reads in the same way: literals, classes, groups,
 * `|`, `* + ? {n,m}` and their lazy forms, `^ $ \b \d \s \w`, and `(?i)` in front. Throws for any other, and for one that
 * does not hold on to where a host begins and ends: it would let in hosts that only contain an allowed one (CVE-2022-1996).
 */
export function originPattern(text: string): RegExp {
  const [, flag = '', body = ''] = /^(\(\?i\))?(.*)$/s.exec(text) ?? []
  if (NOT_GO.test(body) || OTHERWISE.test(body)) {
    throw new Error(`${text} uses what is not taken of Go's regular expressions`)
  }
  const pattern = new RegExp(body, flag === '' ? 'u' : 'iu')
  if (!/\^|\/\//.test(body) || !/\$|(?<!\(\?):(?!\/\/)/.test(body)) {
    throw new Error(`${text} must hold on to the start of the host (^ or //) and to its end ($ or :)`)
  }
  return pattern
}

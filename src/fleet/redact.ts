/**
 * Takes secrets out of text that other programs wrote (an exec plugin's standard error, a library's error), when an error
 * or log record is made of it: bearer tokens, JSON web tokens, PEM keys, passwords inside URLs, credentials in JSON.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[redacted key]'],
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?/g, '[redacted token]'],
  [/\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{4,}/gi, '$1 [redacted]'],
  [/([a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi, '$1[redacted]@'],
  [
    /((?:"|\b)(?:[a-z_-]*(?:token|password|secret|clientKeyData|client-key-data|api[_-]?key))"?\s*[:=]\s*)("[^"]*"?|[^\s,;}]+)/gi,
    '$1[redacted]',
  ],
]

const MAX_LENGTH = 300 // enough for a plugin's own advice, too short to flood a log

/** One line of at most 300 characters without credentials. */
export function redact(text: string): string {
  let clean = text
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
  clean = clean.replace(/\s+/g, ' ').trim()
  return clean.length <= MAX_LENGTH ? clean : `${clean.slice(0, MAX_LENGTH - 1)}…`
}

/** A URL fit to show: without user, password, query and fragment. Text that is no URL is not shown at all. */
export function redactUrl(url: string): string {
  if (!URL.canParse(url)) return '[unreadable URL]'
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

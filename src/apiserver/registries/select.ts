/** Which registries a list or watch is about: selectors, versions, pages. */
import { SEARCH_GROUP, SEARCH_VERSION, type ResourceRegistry } from '../../api/resource-registry.ts'
import type { ListOptions } from '../../http/list-options.ts'
import type { JsonObject } from '../../kube/columns/column.ts'
import { compileFieldSelector } from '../../kube/field-selector.ts'
import { badRequest, expired, StatusError } from '../../kube/status-error.ts'
import type { RegistryList } from '../../registry/registry-store.ts'
import { compareUtf8 } from '../../util/bytes.ts'

const GVK = { group: SEARCH_GROUP, version: SEARCH_VERSION, kind: 'ResourceRegistry' }

export type RegistryMatcher = (registry: ResourceRegistry) => boolean

/** Throws `badRequest` for a field that is not known of registries. */
export function matcherOf({ labelSelector, fieldSelector }: ListOptions): RegistryMatcher {
  const fields = fieldSelector.empty ? undefined : compileFieldSelector(fieldSelector, GVK)
  return (registry) => {
    const { labels = {} } = registry.metadata
    return (
      labelSelector.matches((key) => (Object.hasOwn(labels, key) ? labels[key] : undefined)) &&
      (fields === undefined || fields(registry as unknown as JsonObject))
    )
  }
}

/** Negative where `a` is the older. Throws `badRequest` for what is no version. */
export function compareVersions(a: string, b: string): number {
  for (const version of [a, b]) {
    if (!/^[0-9]+$/.test(version)) throw badRequest(`resourceVersion: Invalid value: ${JSON.stringify(version)}`)
  }
  const [x, y] = [BigInt(a), BigInt(b)]
  return x < y ? -1 : x > y ? 1 : 0
}

/** Throws 504 for a version of the future, 410 for an exact one that is past. */
export function requireVersion({ resourceVersion, resourceVersionMatch }: ListOptions, current: string): void {
  if (resourceVersion === '' || resourceVersion === '0') return
  const order = compareVersions(resourceVersion, current)
  if (order > 0) throw tooLargeVersion(resourceVersion, current)
  if (order < 0 && resourceVersionMatch === 'Exact') {
    throw expired(`resourceVersion ${resourceVersion} is not kept; the current one is ${current}`)
  }
}

export function tooLargeVersion(version: string, current: string): StatusError {
  const message = 'Too large resource version'
  return new StatusError('timeout', `Timeout: ${message}: ${version}, current: ${current}`, {
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message }], retryAfterSeconds: 1 },
  })
}

export interface Page {
  readonly items: readonly ResourceRegistry[]
  /** Of the first page, on every page: what changed since comes to a watch from there. */
  readonly version: string
  readonly continue: string
  /** Undefined where selectors make it costly to know, as in a kube-apiserver. */
  readonly remaining: number | undefined
}

interface Token {
  readonly rv: string
  /** The name of the last item before this page. */
  readonly start: string
}

/** Pages go by name: each registry that is not touched meanwhile is on exactly one. */
export function pageOf({ items, version }: RegistryList, options: ListOptions): Page {
  const token = options.continue === '' ? undefined : decodeToken(options.continue)
  if (token === undefined) requireVersion(options, version)
  else if (compareVersions(token.rv, version) > 0) throw expired('the continue token is of another store; list again')
  const matches = matcherOf(options)
  const rest = items.filter((item) => matches(item) && (token === undefined || isBehind(item, token)))
  const taken = options.limit === undefined ? rest : rest.slice(0, options.limit)
  const last = taken.at(-1)
  const more = last !== undefined && taken.length < rest.length
  const at = token?.rv ?? version
  const selected = !options.labelSelector.empty || !options.fieldSelector.empty
  return {
    items: taken,
    version: at,
    continue: more ? encodeToken({ rv: at, start: last.metadata.name }) : '',
    remaining: more && !selected ? rest.length - taken.length : undefined,
  }
}

function isBehind({ metadata }: ResourceRegistry, { start }: Token): boolean {
  return compareUtf8(metadata.name, start) > 0
}

function encodeToken(token: Token): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function decodeToken(text: string): Token {
  try {
    const { rv, start } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, unknown>
    if (typeof rv === 'string' && typeof start === 'string' && /^[0-9]+$/.test(rv)) return { rv, start }
  } catch {
    // Not of ours: said below.
  }
  throw badRequest('continue key is not valid')
}

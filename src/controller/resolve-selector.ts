/** From a registry's selector (apiVersion and kind, or wildcards) to resources by their plural names. */
import type { ResourceSelector } from '../api/resource-registry.ts'
import { apiVersionOf, groupResourceKey, parseApiVersion } from '../kube/group-version.ts'
import type { KnownResource } from './known-resources.ts'
import { guessNamespaced, guessResource } from './guess-resource.ts'
import type { PlanMember, PlannedResource, PlanProblem } from './plan-parts.ts'
import { servedBy } from './served-resources.ts'

/** As selector's `kind`: every kind but those below. As `apiVersion`: every group, in whatever version is cached. */
export const WILDCARD = '*'

/**
 * Left out of wildcards: Events come and go by the thousand and are read live where they are needed; Secrets ought to be
 * asked for by name. Both can be.
 */
const NOT_BY_WILDCARD = new Set(['secrets', 'events', 'events.events.k8s.io'])

/** One resource that a selector asks for. */
export interface Wish {
  readonly group: string
  /** Undefined: whichever. */
  readonly version: string | undefined
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
}

export interface KnownKinds {
  ofKind(group: string, kind: string): readonly KnownResource[]
}

export interface Resolved {
  readonly wishes: readonly Wish[]
  readonly problems: readonly Omit<PlanProblem, 'registry'>[]
}

export function resolveSelector(
  selector: ResourceSelector,
  members: readonly PlanMember[],
  known: KnownKinds,
  cached: Iterable<PlannedResource>,
): Resolved {
  if (selector.apiVersion === WILDCARD || selector.kind === WILDCARD) {
    return { wishes: byWildcard(selector, members, cached), problems: [] }
  }
  const { apiVersion, kind } = selector
  // Without an apiVersion it is the core group in whichever version, as the original resolves it.
  const parsed = apiVersion === '' ? { group: '', version: undefined } : parseApiVersion(apiVersion)
  if (parsed === undefined || kind === '') {
    return { wishes: [], problems: [{ reason: 'NotServed', message: `${apiVersion} ${kind} names no kind` }] }
  }
  return byName({ ...parsed, kind }, members, known)
}

interface NamedKind {
  readonly group: string
  readonly version: string | undefined
  readonly kind: string
}

function byName(named: NamedKind, members: readonly PlanMember[], known: KnownKinds): Resolved {
  const { group, version, kind } = named
  const discovered = members.flatMap(({ resources }) => (resources === undefined ? [] : [servedBy(resources)]))
  const served = discovered.flatMap((each) => each.ofKind(group, kind))
  const match = served.find((each) => version === undefined || each.version === version)
  if (match !== undefined) return { wishes: [{ ...wishOf(match), version }], problems: [] }
  if (served.length === 0 && discovered.some((each) => each.isUnwatchable(group, kind))) {
    return {
      wishes: [],
      problems: [{ reason: 'NotWatchable', message: `${kindText(named)} cannot be listed and watched` }],
    }
  }
  // Its plural name, from another version of it, from what was ever served, or guessed.
  const [example] = [...served, ...known.ofKind(group, kind)]
  const wish = {
    group,
    version: version ?? example?.version ?? 'v1',
    resource: example?.resource ?? guessResource(kind),
    kind,
    namespaced: example?.namespaced ?? guessNamespaced(named),
  }
  const unknown = members.length === 0 || discovered.length < members.length
  const problem = { reason: 'NotServed', message: `no matching cluster serves ${kindText(named)}` } as const
  return { wishes: [wish], problems: unknown ? [] : [problem] }
}

/**
 * What matching clusters serve. Where some cannot be asked (or none is there) what is cached already stays too: it is not
 * known to be gone.
 */
function byWildcard(
  { apiVersion, kind, namespace = '' }: ResourceSelector,
  members: readonly PlanMember[],
  cached: Iterable<PlannedResource>,
): Wish[] {
  const version = apiVersion === WILDCARD ? undefined : parseApiVersion(apiVersion)
  const wishes = new Map<string, Wish>()
  const offer = (resource: Omit<Wish, 'version'> & { readonly version: string }): void => {
    const key = groupResourceKey(resource)
    if (version !== undefined && (resource.group !== version.group || resource.version !== version.version)) return
    if (kind === WILDCARD ? NOT_BY_WILDCARD.has(key) : resource.kind !== kind) return
    if (namespace !== '' && !resource.namespaced) return
    if (!wishes.has(key)) wishes.set(key, { ...wishOf(resource), version: version?.version })
  }
  for (const { resources } of members) {
    if (resources !== undefined) for (const versions of servedBy(resources).all()) versions.forEach(offer)
  }
  if (members.length === 0 || members.some(({ resources }) => resources === undefined)) {
    for (const { gvr, ...rest } of cached) offer({ ...gvr, ...rest })
  }
  return [...wishes.values()]
}

function wishOf({ group, resource, kind, namespaced }: Omit<Wish, 'version'>): Omit<Wish, 'version'> {
  return { group, resource, kind, namespaced }
}

function kindText({ group, version, kind }: NamedKind): string {
  return `${kind} of ${version === undefined ? 'the core group' : apiVersionOf({ group, version })}`
}

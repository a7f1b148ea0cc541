/**
 * From registries and the shards planned for them to the stores that mirror them: which (store, cluster, resource). Pure.
 *
 * Rules:
 * - A registry without `spec.backendStore` is in the embedded store only, which mirrors everything.
 * - Registries that name the same engine share one store, which mirrors what either asks for. Addresses name the same
 *   engine where they are of one kind and have one in common, directly or by way of a third.
 * - Of several Secrets for one engine that of the first registry counts, in the order of their names; the others are told.
 * - A process writes to a bounded number of engines: the first by the names of their registries.
 */
import type { ResourceRegistry, SearchEngineStore, SecretReference } from '../api/resource-registry.ts'
import type { ClusterName } from '../kube/names.ts'
import { compareUtf8 } from '../util/bytes.ts'
import type { PlannedShard } from './plan.ts'

export type EngineKind = 'opensearch' | 'elasticsearch'

export interface PlannedStoreShard {
  readonly cluster: ClusterName
  readonly group: string
  readonly resource: string
  /** Undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined
}

export interface PlannedStore {
  readonly kind: EngineKind
  /** As registries write them, each once, sorted. */
  readonly addresses: readonly string[]
  readonly secretRef: SecretReference | undefined
  /** Names, sorted. */
  readonly registries: readonly string[]
  readonly shards: readonly PlannedStoreShard[]
}

export interface StorePlanProblem {
  readonly registry: string
  readonly reason: 'BadAddress' | 'OtherCredentials' | 'TooManyStores' | 'NoSearchStore'
  /** For people, one sentence. */
  readonly message: string
}

export interface StorePlan {
  readonly stores: readonly PlannedStore[]
  readonly problems: readonly StorePlanProblem[]
}

/** Each costs a client, two batches under way and its names of changed objects: about 50 MB where it is slow. */
export const MAX_ENGINE_STORES = 8

interface Claim {
  readonly registry: string
  readonly kind: EngineKind
  readonly addresses: readonly string[]
  readonly secretRef: SecretReference | undefined
}

export function planStores(registries: readonly ResourceRegistry[], shards: readonly PlannedShard[]): StorePlan {
  const asked = registries.toSorted((a, b) => compareUtf8(a.metadata.name, b.metadata.name)).flatMap(claimsOf)
  const claims = asked.filter(hasAddresses)
  const engines = groupByEngine(claims)
  const kept = engines.slice(0, MAX_ENGINE_STORES)
  return {
    stores: kept.map((engine) => storeOf(engine, shards)),
    problems: [
      ...asked.filter((claim) => !claims.includes(claim)).map(badAddress),
      ...kept.flatMap(otherCredentials),
      ...engines.slice(MAX_ENGINE_STORES).flatMap(tooMany),
    ],
  }
}

/** All engines that registries name, whether they are written to or not. */
export function namedEngines(registries: readonly ResourceRegistry[]): Pick<PlannedStore, 'kind' | 'addresses'>[] {
  return registries.flatMap(claimsOf).filter(hasAddresses)
}

function hasAddresses({ addresses }: Claim): boolean {
  return addresses.every((address) => URL.canParse(address))
}

function claimsOf({ metadata, spec }: ResourceRegistry): Claim[] {
  const claim = (kind: EngineKind, engine: SearchEngineStore | undefined): Claim[] => {
    if (engine === undefined || engine.addresses.length === 0) return []
    return [{ registry: metadata.name, kind, addresses: engine.addresses, secretRef: engine.secretRef }]
  }
  return [
    ...claim('opensearch', spec.backendStore?.openSearch),
    ...claim('elasticsearch', spec.backendStore?.elasticsearch),
  ]
}

/** Claims that share an address, each group in the order of the claims. */
function groupByEngine(claims: readonly Claim[]): Claim[][] {
  const groups: Claim[][] = []
  for (const claim of claims) {
    const same = groups.filter((group) => group.some((other) => isSameEngine(claim, other)))
    const [first, ...others] = same
    if (first === undefined) {
      groups.push([claim])
      continue
    }
    first.push(...others.flat(), claim)
    for (const other of others) groups.splice(groups.indexOf(other), 1)
  }
  return groups.map((group) => group.toSorted((a, b) => compareUtf8(a.registry, b.registry)))
}

function isSameEngine(a: Claim, b: Claim): boolean {
  return a.kind === b.kind && a.addresses.some((address) => b.addresses.some((other) => at(address) === at(other)))
}

/** Where an address leads: without credentials, the last slash, and differences of case and of default ports. */
function at(address: string): string {
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}`
}

function storeOf(claims: readonly Claim[], shards: readonly PlannedShard[]): PlannedStore {
  const [{ kind, secretRef } = { kind: 'opensearch' as const, secretRef: undefined }] = claims
  const registries = new Set(claims.map(({ registry }) => registry))
  return {
    kind,
    secretRef,
    addresses: [...new Set(claims.flatMap(({ addresses }) => addresses))].sort(compareUtf8),
    registries: [...registries],
    shards: shards.flatMap((shard) => scopeOf(shard, registries)),
  }
}

function scopeOf({ cluster, gvr, claims }: PlannedShard, registries: ReadonlySet<string>): PlannedStoreShard[] {
  const own = [...claims].filter(([registry]) => registries.has(registry)).map(([, namespaces]) => namespaces)
  if (own.length === 0) return []
  const named = own.filter((namespaces) => namespaces !== undefined)
  const namespaces = named.length === own.length ? new Set(named.flatMap((each) => [...each])) : undefined
  return [{ cluster, group: gvr.group, resource: gvr.resource, namespaces }]
}

/** Stored by a karmada-search that did not look. */
function badAddress({ registry, kind }: Claim): StorePlanProblem {
  return { registry, reason: 'BadAddress', message: `an address of spec.backendStore (${kind}) is no URL` }
}

function otherCredentials(claims: readonly Claim[]): StorePlanProblem[] {
  const [first] = claims
  const named = (secret: SecretReference | undefined): string =>
    secret === undefined ? 'no Secret' : `Secret ${secret.namespace}/${secret.name}`
  return claims
    .filter(({ secretRef }) => named(secretRef) !== named(first?.secretRef))
    .map(({ registry, secretRef }) => ({
      registry,
      reason: 'OtherCredentials',
      message: `registry ${first?.registry ?? ''} names the same engine with ${named(first?.secretRef)}, which is used instead of ${named(secretRef)}`,
    }))
}

function tooMany(claims: readonly Claim[]): StorePlanProblem[] {
  const message = `registries name more than ${MAX_ENGINE_STORES} engines; this one is not written to`
  return claims.map(({ registry }) => ({ registry, reason: 'TooManyStores', message }))
}

/** Real members whose objects change all the time, and what they hold in the end. */
import { setTimeout as delay } from 'node:timers/promises'
import { podManifest } from './manifests.ts'
import type { RealCluster } from './real-parts/index.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const PODS = '/api/v1/namespaces/default/pods'

/** Names of one member: those of two members never meet, since an informer's store knows namespace and name alone. */
const NAMES = 40

/** Changes of one member in a second, about. */
const PACE_MS = 25

/** Creates, changes and deletes until `signal` aborts; a member that is away meanwhile is tried again. */
export async function churn(member: RealCluster, random: () => number, signal: AbortSignal): Promise<void> {
  for (let step = 0; !signal.aborted; step++) {
    await changeOne(member, random, step).catch(() => undefined)
    await delay(PACE_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function changeOne(member: RealCluster, random: () => number, step: number): Promise<void> {
  const name = `${member.name}-${Math.floor(random() * NAMES)}`
  const collection = random() < 0.5 ? CONFIG_MAPS : PODS
  const path = `${collection}/${name}`
  const what = random()
  const request = { signal: AbortSignal.timeout(2_000) }
  if (what < 0.4) {
    const body = collection === PODS ? podManifest(name) : { metadata: { name }, data: { step: String(step) } }
    await member.request(collection, { body, ...request })
  } else if (what < 0.8) {
    const patch =
      collection === PODS ? { metadata: { labels: { step: String(step) } } } : { data: { step: String(step) } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    await member.request(path, { method: 'PATCH', headers, body: JSON.stringify(patch), ...request })
  } else {
    await member.request(`${path}?gracePeriodSeconds=0`, { method: 'DELETE', ...request })
  }
}

export interface HeldObject {
  readonly uid: string
  readonly cluster: string
  readonly data?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly labels?: Record<string, string> }
    readonly data?: Record<string, string>
  }[]
}

/** The union of what the members hold, by `namespace/name`. */
export async function held(
  members: readonly RealCluster[],
  resource: 'pods' | 'configmaps',
): Promise<Record<string, HeldObject>> {
  const union: Record<string, HeldObject> = {}
  for (const member of members) {
    const { items } = (await member.ok(resource === 'pods' ? PODS : CONFIG_MAPS)) as Listed
    for (const { metadata, data } of items) {
      if (metadata.name === 'kube-root-ca.crt') continue
      union[`default/${metadata.name}`] = {
        uid: metadata.uid,
        cluster: member.name,
        ...(data === undefined ? {} : { data }),
        ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      }
    }
  }
  return union
}

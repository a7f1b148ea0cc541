/** What `search/lookup` and `search/related` tell a caller, held against what the members' own lists show him. */
import assert from 'node:assert/strict'
import type { AskOurs } from './search-comparison.ts'
import { BASE, GHOST, KINDS, lookupKeys, type Caller, type RightsWorld, type WorldObject } from './rights-world.ts'

const ADMIN = { name: 'admin', groups: ['system:masters'] }

export interface Subject {
  readonly cluster: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Whether a list that the caller may make in that member would show the object if it is there. */
export type Sees = (caller: Caller, subject: Subject) => Promise<boolean>

interface RelatedItem extends Subject {
  readonly relation: string
  readonly found: boolean
  readonly depth: number
  readonly via?: string
}

/** Relations that the one object names of the other: what names an object that is not seen is shown all the same. */
const NAMED: ReadonlySet<string> = new Set(['owner', 'mounts', 'runsOn', 'refersTo'])

export class RelationComparison {
  readonly #world: RightsWorld
  readonly #ours: AskOurs
  readonly #sees: Sees

  constructor(world: RightsWorld, ours: AskOurs, sees: Sees) {
    this.#world = world
    this.#ours = ours
    this.#sees = sees
  }

  /** An object that the caller may not see is as one that is not there, and so is everything that belongs to another. */
  async related(caller: Caller, subject: Subject): Promise<string> {
    const answer = await this.#related(caller, subject, 1)
    const isThere = this.#world.objects.has(placeOf(subject)) && (await this.#sees(caller, subject))
    assert.equal(answer.status, isThere ? 200 : 404, answer.text)
    if (!isThere) return 'none'
    const all = itemsOf(await this.#related(ADMIN, subject, 1))
    const expected: string[] = []
    for (const item of all) {
      const isFound = item.found && (await this.#sees(caller, item))
      if (isFound || NAMED.has(item.relation)) expected.push(`${item.relation} ${placeOf(item)} ${isFound}`)
    }
    const shown = itemsOf(answer).map((item) => `${item.relation} ${placeOf(item)} ${item.found}`)
    assert.deepEqual(shown.sort(), expected.sort())
    for (const item of itemsOf(await this.#related(caller, subject, 3))) await this.#mayKnow(caller, subject, item)
    return expected.length === all.length ? 'all' : 'part'
  }

  #related(caller: Caller, { cluster, kind, namespace, name }: Subject, depth: number) {
    const query = new URLSearchParams({ cluster, kind, namespace, name, depth: String(depth) })
    return this.#ours(caller, `${BASE}/search/related?${query.toString()}`)
  }

  /** He may see it, or an object that he may see names it. */
  async #mayKnow(caller: Caller, start: Subject, item: RelatedItem): Promise<void> {
    const told = JSON.stringify(item)
    const via = item.via ?? placeOf(start)
    const [cluster = '', kind = '', namespace = '', name = ''] = via.split('/')
    assert.ok(await this.#sees(caller, { cluster, kind, namespace, name }), `${told}: by way of what is not seen`)
    if (item.found) assert.ok(await this.#sees(caller, item), `${told}: not seen`)
    else {
      const text = JSON.stringify(this.#world.objects.get(via)?.object)
      assert.ok(text.includes(JSON.stringify(item.name)), `${told}: not named by ${via}`)
    }
  }

  /** All pods, and the addresses of one place: of its pods, Services and nodes. */
  async lookup(caller: Caller, namespace: string): Promise<string> {
    const ips = this.#addresses(namespace)
    const answer = await this.#ours(caller, `${BASE}/search/lookup?key=${lookupKeys()}&ip=${ips.join(',')}`)
    assert.equal(answer.status, 200, answer.text)
    const told = answer.json() as Lookup
    const pods = this.#objects('Pod')
    const expected: string[] = []
    for (const pod of pods) if (await this.#seesObject(caller, pod)) expected.push(await this.#stateOf(caller, pod))
    const shown = told.pods.flatMap(({ key, found }) =>
      found.map((pod) => `${key} ${pod.cluster} ${pod.state} ${pod.ips.join()} ${pod.node}`),
    )
    assert.deepEqual(shown.sort(), expected.sort())
    let owners = 0
    for (const { ip, found } of told.ips) {
      const wanted: string[] = []
      for (const object of this.#world.objects.values()) {
        const role = roleOf(object, ip)
        if (role !== undefined && (await this.#seesObject(caller, object))) wanted.push(`${role} ${placeText(object)}`)
      }
      assert.deepEqual(found.map((each) => `${each.role} ${placeOf(each)}`).sort(), wanted.sort(), ip)
      owners += wanted.length
    }
    assert.equal(told.total, expected.length + owners)
    return expected.length === 0 ? 'none' : expected.length === pods.length ? 'all' : 'part'
  }

  /** That a pod's node is gone knows who may see it. */
  async #stateOf(caller: Caller, { cluster, namespace, name, object }: WorldObject): Promise<string> {
    const { nodeName } = object.spec as { nodeName: string }
    const ghost = { cluster, kind: 'Node', namespace: '', name: GHOST }
    const isGone = nodeName === GHOST && (await this.#sees(caller, ghost))
    return `nsip:${namespace}:${name} ${cluster} ${isGone ? 'nodeGone' : 'assigned'} ${object.status.podIP} ${nodeName}`
  }

  #addresses(namespace: string): string[] {
    const pods = this.#objects('Pod').filter((pod) => pod.namespace === namespace)
    const services = this.#objects('Service').filter((service) => service.namespace === namespace)
    const ips = [
      ...pods.flatMap(({ object: { status } }) => [status.podIP, status.hostIP]),
      ...services.map(({ object }) => object.spec.clusterIP),
    ].filter((ip) => typeof ip === 'string')
    return [...new Set(ips as string[]), '10.255.255.1']
  }

  #objects(kind: string): WorldObject[] {
    return [...this.#world.objects.values()].filter((each) => each.kind.kind === kind)
  }

  #seesObject(caller: Caller, { kind, ...place }: WorldObject): Promise<boolean> {
    return this.#sees(caller, { ...place, kind: kind.kind })
  }
}

interface Lookup {
  readonly total: number
  readonly pods: readonly {
    readonly key: string
    readonly found: readonly { readonly cluster: string; state: string; ips: readonly string[]; node: string }[]
  }[]
  readonly ips: readonly { readonly ip: string; readonly found: readonly (Subject & { readonly role: string })[] }[]
}

function roleOf({ kind, object }: WorldObject, ip: string): string | undefined {
  switch (kind.kind) {
    case 'Pod':
      return object.status.podIP === ip ? 'pod' : undefined
    case 'Node':
      return JSON.stringify(object.status.addresses).includes(`"${ip}"`) ? 'node' : undefined
    case 'Service':
      return object.spec.clusterIP === ip ? 'service' : undefined
    case 'EndpointSlice':
      return JSON.stringify(object.endpoints).includes(`"${ip}"`) ? 'endpoint' : undefined
    default:
      return undefined
  }
}

export function kindNamed(name: string) {
  return KINDS.find(({ kind }) => kind === name)
}

function itemsOf({ json }: Awaited<ReturnType<AskOurs>>): readonly RelatedItem[] {
  return (json() as { items: RelatedItem[] }).items
}

function placeOf({ cluster, kind, namespace, name }: Subject): string {
  return `${cluster}/${kind}/${namespace}/${name}`
}

function placeText({ kind, ...place }: WorldObject): string {
  return placeOf({ ...place, kind: kind.kind })
}

/** A control plane that has Karmada's chain, tells callers what they may read of it, and can misbehave. */
import type { UserInfo } from '../../src/http/api-request.ts'
import { parseResourcePath } from '../../src/kube/resource-path.ts'
import type { ControlPlane, ControlPlaneAnswer } from '../../src/search/control-plane.ts'

export interface ChainObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
}

type Answers = (path: string, signal: AbortSignal) => Promise<ControlPlaneAnswer> | undefined

export class FakeControlPlane implements ControlPlane {
  readonly asked: { readonly path: string; readonly user: UserInfo; readonly maxBytes: number }[] = []
  readonly failures: unknown[] = []
  /** Instead of the answer, where it has one. */
  misbehaves: Answers = () => undefined
  /** By `resource` or `namespace/resource`. */
  allows: (what: string) => boolean = () => true
  readonly #objects = new Map<string, ChainObject[]>()

  put(resource: string, ...objects: ChainObject[]): void {
    this.#objects.set(resource, [...(this.#objects.get(resource) ?? []), ...objects])
  }

  async get(path: string, user: UserInfo, maxBytes: number, signal: AbortSignal): Promise<ControlPlaneAnswer> {
    this.asked.push({ path, user, maxBytes })
    const { status, body } = await (this.misbehaves(path, signal) ?? this.#answer(path))
    return { status, body: (body?.length ?? 0) > maxBytes ? undefined : body }
  }

  failed(cause: unknown): void {
    this.failures.push(cause)
  }

  #answer(path: string): ControlPlaneAnswer {
    const [native = '', query = ''] = path.split('?')
    const { resource = '', namespace = '', name } = parseResourcePath(native) ?? {}
    if (!this.allows(resource) && !this.allows(`${namespace}/${resource}`)) return answer(403, { kind: 'Status' })
    const within = (this.#objects.get(resource) ?? []).filter(
      ({ metadata }) => namespace === '' || metadata.namespace === namespace,
    )
    if (name !== undefined && name !== '') {
      const found = within.find(({ metadata }) => metadata.name === name)
      return found === undefined ? answer(404, { kind: 'Status' }) : answer(200, found)
    }
    return answer(200, page(within, new URLSearchParams(query)))
  }
}

export function answer(status: number, body: object): ControlPlaneAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)) }
}

function page(objects: readonly ChainObject[], query: URLSearchParams): object {
  const labels = (query.get('labelSelector') ?? '').split(',').filter((each) => each !== '')
  const all = objects.filter(({ metadata }) =>
    labels.every((label) => {
      const [key = '', value] = label.split('=')
      return metadata.labels?.[key] === value
    }),
  )
  const from = Number(query.get('continue') ?? '0')
  const to = from + Number(query.get('limit') ?? all.length)
  return { items: all.slice(from, to), metadata: to < all.length ? { continue: String(to) } : {} }
}

/** How far a member's RBAC objects can be relied on. */
import type { ReflectorState } from '../informer/reflector-store.ts'
import { RBAC_KINDS, type RbacKind } from './rbac-index.ts'

export type RbacState =
  /** The first lists are on their way. */
  | { readonly state: 'loading' }
  /** All four resources are followed. */
  | { readonly state: 'known' }
  /**
   * As last heard: the member does not answer. Its objects are as old, so that nothing is shown to somebody who could not
   * see it when it was.
   */
  | { readonly state: 'stale'; readonly reason: string }
  /** Cannot be read or followed while the member answers. */
  | { readonly state: 'unknown'; readonly reason: string }

interface KindState {
  listed: boolean
  failing: { readonly code: string; readonly message: string; readonly sinceMs: number } | undefined
}

/** The member itself is away, for everybody: nothing of it can be newer than its rights. */
const AWAY: ReadonlySet<string> = new Set([
  'refused',
  'dns',
  'tls',
  'proxy',
  'timeout',
  'closed',
  'unreachable',
  'auth',
])

const KNOWN: RbacState = { state: 'known' }

/** A member that answers with errors is given so long to get over it. */
const GRACE_MS = 30_000

export class RbacProgress {
  readonly #kinds = new Map<RbacKind, KindState>(
    RBAC_KINDS.map((kind) => [kind, { listed: false, failing: undefined }]),
  )

  /** All listed and none failing: asked for with every question. */
  #isSound = false

  listed(kind: RbacKind): void {
    this.#of(kind).listed = true
    this.#update()
  }

  /** `atMs`: monotonic. */
  report(kind: RbacKind, state: ReflectorState, atMs: number): void {
    const known = this.#of(kind)
    if (state.phase === 'watching') {
      known.failing = undefined
      this.#update()
    }
    if (state.phase !== 'failing') return
    const { code, message } = state
    // What began as an outage is one as long as the reason stays of that sort.
    const same = known.failing !== undefined && AWAY.has(known.failing.code) === AWAY.has(code)
    known.failing = { code, message, sinceMs: same ? (known.failing?.sinceMs ?? atMs) : atMs }
    this.#update()
  }

  state(nowMs: number): RbacState {
    if (this.#isSound) return KNOWN
    const kinds = [...this.#kinds.values()]
    const refusing = kinds.find(
      ({ failing, listed }) =>
        failing !== undefined && !AWAY.has(failing.code) && (!listed || nowMs - failing.sinceMs > GRACE_MS),
    )
    if (refusing !== undefined) return { state: 'unknown', reason: refusing.failing?.message ?? '' }
    const failing = kinds.find((kind) => kind.failing !== undefined)?.failing
    if (kinds.some(({ listed }) => !listed)) {
      return failing === undefined ? { state: 'loading' } : { state: 'unknown', reason: failing.message }
    }
    return failing === undefined ? KNOWN : { state: 'stale', reason: failing.message }
  }

  #update(): void {
    this.#isSound = [...this.#kinds.values()].every(({ listed, failing }) => listed && failing === undefined)
  }

  #of(kind: RbacKind): KindState {
    let state = this.#kinds.get(kind)
    if (state === undefined) this.#kinds.set(kind, (state = { listed: false, failing: undefined }))
    return state
  }
}

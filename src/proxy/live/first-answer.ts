/** Whether any member has answered yet: a stream of which nobody answers must not look like one in which nothing happens. */
import type { MemberFault } from './member-fault.ts'
import { unanswered } from './member-fault.ts'
import type { LiveTarget } from './target.ts'

export class FirstAnswer {
  readonly #target: LiveTarget
  /** Members that have failed before anyone answered; undefined when that is decided. */
  #faults: MemberFault[] | undefined = []
  readonly #decided = Promise.withResolvers<undefined>()

  constructor(target: LiveTarget) {
    this.#target = target
    this.#decided.promise.catch(() => undefined) // whoever wants to know awaits it
    const { members, refused, absent } = target
    if (members.length > 0) return
    if (refused.length + absent.length > 0) this.#refuse(refused)
    else this.answered()
  }

  /** Resolves when one answers, or there is nobody to ask; rejects with what the members say when each of them has failed once. */
  get promise(): Promise<undefined> {
    return this.#decided.promise
  }

  answered(): void {
    this.#faults = undefined
    this.#decided.resolve(undefined)
  }

  /** A member's first attempt has failed. */
  failed(fault: MemberFault): void {
    this.#faults?.push(fault)
    if (this.#faults?.length === this.#target.members.length) this.#refuse([...this.#faults, ...this.#target.refused])
  }

  #refuse(faults: readonly MemberFault[]): void {
    this.#faults = undefined
    this.#decided.reject(unanswered(faults, this.#target.absent))
  }
}

/** A stream whose first step has been taken. */
export async function* resumed<T>(
  first: Promise<IteratorResult<T, void>>,
  rest: AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  try {
    const { value, done } = await first
    if (done === true) return
    yield value
    yield* rest
  } finally {
    await rest.return()
  }
}

/** Rights that a test gives and takes, by cluster. */
import type { ClusterRights, Rights, RightsQuestion } from '../../src/http/rights.ts'
import type { ClusterName } from '../../src/kube/names.ts'
import { EVERYTHING, NOTHING, ObjectScopeBuilder, type ObjectScope } from '../../src/kube/object-scope.ts'

type Answer = ObjectScope | { readonly undetermined: string }

export class FakeRights implements Rights {
  readonly questions: RightsQuestion[] = []
  readonly #answers = new Map<string, Answer>()
  readonly #listeners = new Set<() => void>()

  /** Clusters that are never named show nothing. */
  constructor(answers: Readonly<Record<string, Answer>> = {}) {
    for (const [cluster, answer] of Object.entries(answers)) this.#answers.set(cluster, answer)
  }

  get listeners(): number {
    return this.#listeners.size
  }

  set(cluster: string, answer: Answer): void {
    this.#answers.set(cluster, answer)
    this.notify()
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  of(question: RightsQuestion, clusters: readonly ClusterName[]): Promise<ReadonlyMap<ClusterName, ClusterRights>> {
    this.questions.push(question)
    return Promise.resolve(new Map(clusters.map((cluster) => [cluster, this.#of(cluster)])))
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #of(cluster: string): ClusterRights {
    const answer = this.#answers.get(cluster) ?? NOTHING
    return 'undetermined' in answer ? { scope: NOTHING, undetermined: answer.undetermined } : { scope: answer }
  }
}

export { EVERYTHING, NOTHING }

/** `scope(['ns1'], ['ns2', 'a'])`: the whole of ns1, and `a` in ns2; an empty namespace means everywhere. */
export function scope(...grants: readonly (readonly [string, ...string[]])[]): ObjectScope {
  const builder = new ObjectScopeBuilder()
  for (const [namespace, ...names] of grants) builder.grant(namespace, names)
  return builder.build()
}

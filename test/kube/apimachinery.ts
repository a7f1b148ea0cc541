/** Answers of the real library (k8s.io/apimachinery 0.36.3); test/support/apimachinery/main.go wrote them. */
import { readFileSync } from 'node:fs'

/** What is not there is empty. */
export interface Vector {
  readonly kind: 'label' | 'field' | 'quantity' | 'age' | 'duration' | 'quote'
  readonly text: string
  readonly objects: readonly Readonly<Record<string, string>>[]
  readonly ms: number
  readonly error: string
  readonly printed: string
  readonly value: string
  readonly matches: readonly boolean[]
}

const EMPTY = { text: '', objects: [], ms: 0, error: '', printed: '', value: '', matches: [] }

export function vectorsOf(kind: Vector['kind']): readonly Vector[] {
  const lines = readFileSync(new URL('../fixtures/kube/apimachinery.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const vectors = lines.map((line) => ({ ...EMPTY, ...(JSON.parse(line) as Partial<Vector>) }) as Vector)
  return vectors.filter((vector) => vector.kind === kind)
}

/** A text as a test's title shows it. */
export const titleOf = (text: string): string =>
  text.length > 70 ? `${JSON.stringify(text.slice(0, 60))}… (${text.length})` : JSON.stringify(text)

export function lookup(object: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

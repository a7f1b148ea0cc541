/** What somebody may have meant who mistyped a name. */
import { likenessOf } from '../../query/likeness.ts'

/** The name that is fewest typing errors away, and no more than two; undefined: none is. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const likeness = likenessOf({ type: 'near', text: typed, edits: typed.length < 4 ? 1 : 2 })
  const [nearest] = names
    .map((name) => ({ name, errors: likeness(name) ?? Infinity }))
    .filter(({ errors }) => errors < Infinity)
    .toSorted((a, b) => a.errors - b.errors)
  return nearest?.name
}

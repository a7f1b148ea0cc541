/**
 * Label selectors, complete: the text form of `?labelSelector=` and the object form of `metav1.LabelSelector`.
 * Source: apimachinery pkg/labels (grammar, messages) and pkg/apis/meta/v1/helpers.go (object form).
 */
import { compareUtf8 } from '../util/bytes.ts'
import { goQuote } from './go-text.ts'
import { parseRequirements } from './label-selector-parser.ts'
import type { LabelOperator, Requirement } from './label-requirement.ts'
import { newRequirement, requirementMatches, requirementText } from './label-requirement.ts'
import { badRequest } from './status-error.ts'

export type { LabelOperator, Requirement } from './label-requirement.ts'

/** All requirements hold together. Without any it matches everything. */
export class LabelSelector {
  /** In the order of their keys, as a kube-apiserver keeps them. */
  readonly requirements: readonly Requirement[]

  constructor(requirements: readonly Requirement[]) {
    this.requirements = requirements.toSorted((a, b) => compareUtf8(a.key, b.key))
  }

  get empty(): boolean {
    return this.requirements.length === 0
  }

  /** `get` gives a label's value, undefined where the object has no such label. */
  matches(get: (key: string) => string | undefined): boolean {
    for (const requirement of this.requirements) {
      if (!requirementMatches(requirement, get(requirement.key))) return false
    }
    return true
  }

  /** In selector syntax; equal selectors give equal text. */
  toString(): string {
    return this.requirements.map(requirementText).join(',')
  }
}

export const everything = new LabelSelector([])

/** `x in (a,b),!y,z!=1`. Throws `badRequest` with a kube-apiserver's message. The empty text matches everything. */
export function parseLabelSelector(text: string): LabelSelector {
  const requirements = parseRequirements(text)
  return requirements.length === 0 ? everything : new LabelSelector(requirements)
}

/** `metav1.LabelSelector`, of any provenance: the fields are checked here. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

const OBJECT_OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

/** An empty object matches everything; whether an absent one does is the caller's to know. Throws `badRequest`. */
export function labelSelectorFrom(object: LabelSelectorObject): LabelSelector {
  const labels = Object.entries(object.matchLabels ?? {}).map(([key, value]) => newRequirement(key, 'in', [value]))
  const expressions = (object.matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = OBJECT_OPERATORS.get(operator)
    if (known === undefined) throw badRequest(`${goQuote(operator)} is not a valid label selector operator`)
    return newRequirement(key, known, values ?? [])
  })
  return new LabelSelector([...labels, ...expressions])
}

/** Field selectors. Source: apimachinery pkg/fields. */
import type { JsonObject } from './columns/column.ts'
import type { GroupVersionKind } from './group-version.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

export class FieldSelector {
  readonly requirements: readonly FieldRequirement[]

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
  }

  get empty(): boolean {
    return this.requirements.length === 0
  }

  /** `get` gives a field's text; a field the object lacks is the empty text, as in a kube-apiserver. */
  matches(get: (field: string) => string): boolean {
    return this.requirements.every(({ field, operator, value }) => (get(field) === value) === (operator === '='))
  }

  /** In selector syntax, escaped; equal selectors give equal text. */
  toString(): string {
    return this.requirements.map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`).join(',')
  }
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}

/** Throws `badRequest` with a kube-apiserver's message. The empty text matches everything. */
export function parseFieldSelector(text: string): FieldSelector {
  throw new Error(`not parsed: ${text}`)
}

/** Throws `badRequest` `field label not supported: X` for a field that a real server does not know for this kind. */
export function compileFieldSelector(selector: FieldSelector, gvk: GroupVersionKind): (object: JsonObject) => boolean {
  throw new Error(`not compiled: ${selector.toString()} ${gvk.kind}`)
}

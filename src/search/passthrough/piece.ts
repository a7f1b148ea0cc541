/** One value inside of a request in an engine's language, with where it stands: everything that is read is read through it. */
import { badRequest, type StatusError } from '../../kube/status-error.ts'
import { fieldType, type FieldType } from './fields.ts'

const MAX_TEXT = 1_024

export type Members = ReadonlyMap<string, Piece>

export class Piece {
  readonly value: unknown
  /** `query.bool.must[0]`. */
  readonly path: string

  constructor(value: unknown, path: string) {
    this.value = value
    this.path = path
  }

  refused(why: string): StatusError {
    return badRequest(`${this.path === '' ? 'the body' : this.path}: ${why}`)
  }

  /** Its members, all of whose names are among these. */
  object(allowed: readonly string[]): Members {
    const members = this.members()
    for (const [name, member] of members) {
      if (!allowed.includes(name)) throw member.refused(`not allowed here; allowed: ${allowed.join(', ')}`)
    }
    return members
  }

  /** Its members, whatever their names. */
  members(): Members {
    const { value } = this
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.refused('expected an object')
    return new Map(Object.entries(value).map(([name, member]) => [name, new Piece(member, this.#below(name))]))
  }

  /** Its one member: `{"term": …}`. */
  only(): readonly [string, Piece] {
    const [first, ...others] = this.members()
    if (first === undefined || others.length > 0) throw this.refused('expected an object with one member')
    return first
  }

  /** The elements of a list; anything else is a list of itself, as engines have it. */
  list(most: number): readonly Piece[] {
    const values: readonly unknown[] = Array.isArray(this.value) ? this.value : [this.value]
    if (values.length > most) throw this.refused(`at most ${most}`)
    return values.map((value, i) => new Piece(value, Array.isArray(this.value) ? `${this.path}[${i}]` : this.path))
  }

  text(): string {
    if (typeof this.value !== 'string') throw this.refused('expected a text')
    if (this.value.length > MAX_TEXT) throw this.refused(`longer than ${MAX_TEXT} characters`)
    return this.value
  }

  oneOf<const T extends string>(values: readonly T[]): T {
    const found = values.find((value) => value === this.value)
    if (found === undefined) throw this.refused(`expected one of ${values.join(', ')}`)
    return found
  }

  integer(least: number, most: number): number {
    const { value } = this
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
      throw this.refused(`expected a whole number from ${least} to ${most}`)
    }
    return value
  }

  boolean(): boolean {
    if (typeof this.value !== 'boolean') throw this.refused('expected true or false')
    return this.value
  }

  /** A text, number or boolean, as fields have them. */
  scalar(): string | number | boolean {
    const { value } = this
    if (typeof value === 'number' || typeof value === 'boolean') return value
    return this.text()
  }

  /** The name of a field of one of these types. */
  field(types: readonly FieldType[]): string {
    return this.named(this.text(), types)
  }

  /** `name`, which stands here, as that of a field. */
  named(name: string, types: readonly FieldType[]): string {
    const type = fieldType(name)
    if (type === undefined) throw this.refused(`there is no field ${JSON.stringify(name.slice(0, 80))} to search by`)
    if (!types.includes(type)) throw this.refused(`not possible on ${name}, whose type is ${type}`)
    return name
  }

  #below(name: string): string {
    const shown = name.slice(0, 80)
    return this.path === '' ? shown : `${this.path}.${shown}`
  }
}

/** `{name: value}` where there is such a member, to be spread. */
export function optional<T>(members: Members, name: string, read: (piece: Piece) => T): Readonly<Record<string, T>> {
  const member = members.get(name)
  return member === undefined ? {} : { [name]: read(member) }
}

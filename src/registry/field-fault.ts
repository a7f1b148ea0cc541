/** Faults of single fields, worded and coded as apimachinery's `field.Error`. */
import type { StatusCause } from '../kube/status-error.ts'
import { goQuote } from '../kube/go-text.ts'

export interface FieldFault extends Required<StatusCause> {
  /** The smallest object around the field, as JSON: tells an unchanged fault from a new one of the same words. */
  readonly subject: string
}

export function invalidValue(field: string, value: unknown, detail: string, subject: unknown = value): FieldFault {
  return fault('FieldValueInvalid', field, `Invalid value: ${quote(value)}: ${detail}`, subject)
}

export function requiredValue(field: string, detail: string, subject: unknown): FieldFault {
  return fault('FieldValueRequired', field, detail === '' ? 'Required value' : `Required value: ${detail}`, subject)
}

export function forbidden(field: string, detail: string, subject: unknown): FieldFault {
  return fault('FieldValueForbidden', field, `Forbidden: ${detail}`, subject)
}

export function unsupportedValue(field: string, value: string, known: readonly string[], subject: unknown): FieldFault {
  const list = known.map((each) => JSON.stringify(each)).join(', ')
  return fault(
    'FieldValueNotSupported',
    field,
    `Unsupported value: ${quote(value)}: supported values: ${list}`,
    subject,
  )
}

function fault(reason: string, field: string, message: string, subject: unknown): FieldFault {
  return { reason, field, message, subject: JSON.stringify(subject) ?? '' }
}

function quote(value: unknown): string {
  return typeof value === 'string' ? goQuote(value) : (JSON.stringify(value) ?? 'null')
}

/** The faults as they stand in a Status. */
export function causesOf(faults: readonly FieldFault[]): Required<StatusCause>[] {
  return faults.map(({ reason, message, field }) => ({ reason, message, field }))
}

/**
 * Ratcheting: the faults that an update brings in, without those that the stored object has already. A fault is the same
 * where its field (whatever its place in a list), its words and the object around it are.
 */
export function newFaults(faults: readonly FieldFault[], stored: readonly FieldFault[]): FieldFault[] {
  const counts = new Map<string, number>()
  for (const each of stored) counts.set(identity(each), (counts.get(identity(each)) ?? 0) + 1)
  return faults.filter((each) => {
    const left = counts.get(identity(each)) ?? 0
    counts.set(identity(each), left - 1)
    return left <= 0
  })
}

function identity({ reason, field, message, subject }: FieldFault): string {
  return [reason, field.replace(/\[\d+\]/g, '[]'), message, subject].join('\n')
}

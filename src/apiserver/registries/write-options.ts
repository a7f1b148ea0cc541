/** Query parameters of writes. Source: apimachinery pkg/apis/meta/v1 CreateOptions, UpdateOptions, PatchOptions. */
import { StatusError, type StatusCause } from '../../kube/status-error.ts'

export interface WriteQuery {
  readonly dryRun: boolean
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
}

/** Throws `invalid` with every fault. Warnings about unknown fields are the default, as in a kube-apiserver. */
export function parseWriteQuery(query: URLSearchParams, kind: string): WriteQuery {
  const faults: StatusCause[] = []
  const dryRun = isDryRun(query.getAll('dryRun'), faults)
  const validation = query.get('fieldValidation') ?? ''
  const fieldValidation = (['Strict', 'Warn', 'Ignore'] as const).find((each) => each === validation)
  if (validation !== '' && fieldValidation === undefined) {
    faults.push(unsupported('fieldValidation', validation, ['Ignore', 'Strict', 'Warn']))
  }
  if (faults.length > 0) throw invalidOptions(kind, faults)
  return { dryRun, fieldValidation: fieldValidation ?? 'Warn' }
}

export function isDryRun(values: readonly string[], faults: StatusCause[]): boolean {
  for (const value of values) if (value !== 'All') faults.push(unsupported('dryRun', value, ['All']))
  return values.includes('All')
}

export function invalidOptions(kind: string, causes: readonly StatusCause[]): StatusError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`)
  const all = texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
  return new StatusError('invalid', `${kind}.meta.k8s.io "" is invalid: ${all}`, {
    details: { group: 'meta.k8s.io', kind, causes },
  })
}

function unsupported(field: string, value: string, known: readonly string[]): StatusCause {
  const supported = known.map((each) => JSON.stringify(each)).join(', ')
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(value.slice(0, 40))}: supported values: ${supported}`,
    field,
  }
}

/** Query parameters of writes. Source: apimachinery pkg/apis/meta/v1 CreateOptions, UpdateOptions, PatchOptions. */
import type { ApiRequest } from '../../http/api-request.ts'
import { parseBool } from '../../http/list-options.ts'
import { goQuote } from '../../kube/go-text.ts'
import { StatusError, type StatusCause } from '../../kube/status-error.ts'

export interface WriteQuery {
  readonly dryRun: boolean
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
  /** Who the fields that change belong to; may be empty. */
  readonly fieldManager: string
  /** Of server-side apply: take over fields of others. */
  readonly force: boolean
}

export type WriteKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'

/**
 * Throws `invalid` with every fault. Warnings about unknown fields are the default, as in a kube-apiserver; a client that
 * does not name itself is known by its User-Agent. `apply`: a patch that is a configuration.
 */
export function parseWriteQuery(
  { query, incoming }: Pick<ApiRequest, 'query' | 'incoming'>,
  kind: WriteKind,
  apply = false,
): WriteQuery {
  const faults: StatusCause[] = []
  const fieldManager = query.get('fieldManager') ?? ''
  const force = parseBool(query.get('force'))
  if (apply && fieldManager === '') {
    const message = 'Required value: is required for apply patch'
    faults.push({ reason: 'FieldValueRequired', message, field: 'fieldManager' })
  }
  if (kind === 'PatchOptions' && !apply && force !== undefined) {
    const message = 'Forbidden: may not be specified for non-apply patch'
    faults.push({ reason: 'FieldValueForbidden', message, field: 'force' })
  }
  faults.push(...managerFaults(fieldManager))
  const dryRun = isDryRun(query.getAll('dryRun'), faults)
  const validation = query.get('fieldValidation') ?? ''
  const fieldValidation = (['Strict', 'Warn', 'Ignore'] as const).find((each) => each === validation)
  if (validation !== '' && fieldValidation === undefined) {
    faults.push(unsupported('fieldValidation', validation, ['Ignore', 'Strict', 'Warn']))
  }
  if (faults.length > 0) throw invalidOptions(kind, faults)
  return {
    dryRun,
    fieldValidation: fieldValidation ?? 'Warn',
    fieldManager: fieldManager === '' ? userAgentName(incoming.headers['user-agent'] ?? '') : fieldManager,
    force: force ?? false,
  }
}

const MAX_MANAGER_BYTES = 128
// What Go's unicode.IsPrint does not take for printable.
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

function managerFaults(manager: string): StatusCause[] {
  const field = 'fieldManager'
  const faults: StatusCause[] = []
  if (Buffer.byteLength(manager) > MAX_MANAGER_BYTES) {
    const message = `Too long: may not be more than ${MAX_MANAGER_BYTES} bytes`
    faults.push({ reason: 'FieldValueTooLong', message, field })
  }
  if (UNPRINTABLE.test(manager)) {
    const message = `Invalid value: ${goQuote(manager.slice(0, 40))}: not all characters are printable`
    faults.push({ reason: 'FieldValueInvalid', message, field })
  }
  return faults
}

/** `kubectl` of `kubectl/v1.36.3 (linux/amd64) …`. */
function userAgentName(agent: string): string {
  const name = [...agent.split('/', 1).join('')].filter((character) => !UNPRINTABLE.test(character))
  while (Buffer.byteLength(name.join('')) > MAX_MANAGER_BYTES) name.pop()
  return name.join('')
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

export function unsupported(field: string, value: string, known: readonly string[]): StatusCause {
  const supported = known.map((each) => JSON.stringify(each)).join(', ')
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(value.slice(0, 40))}: supported values: ${supported}`,
    field,
  }
}

/** `metav1.Status` as others send it: in the body of a failed request, in a watch's ERROR event, in place of a list. */
import type { Status, StatusCause, StatusDetails } from './status-error.ts'

type Fields = Readonly<Record<string, unknown>>

/** The Status that a parsed JSON value is; undefined where it is something else. Fields of wrong types are left out. */
export function statusFrom(value: unknown): Status | undefined {
  const fields = fieldsOf(value)
  if (fields?.['kind'] !== 'Status') return undefined
  const metadata = fieldsOf(fields['metadata'])
  const details = detailsFrom(fields['details'])
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: { ...text(metadata, 'continue'), ...text(metadata, 'resourceVersion') },
    status: fields['status'] === 'Success' ? 'Success' : 'Failure',
    ...text(fields, 'message'),
    ...text(fields, 'reason'),
    ...(details === undefined ? {} : { details }),
    code: typeof fields['code'] === 'number' ? fields['code'] : 500,
  }
}

function detailsFrom(value: unknown): StatusDetails | undefined {
  const fields = fieldsOf(value)
  if (fields === undefined) return undefined
  const causes = Array.isArray(fields['causes']) ? fields['causes'].flatMap(causeFrom) : undefined
  const seconds = fields['retryAfterSeconds']
  return {
    ...text(fields, 'name'),
    ...text(fields, 'group'),
    ...text(fields, 'kind'),
    ...text(fields, 'uid'),
    ...(causes === undefined ? {} : { causes }),
    ...(typeof seconds === 'number' ? { retryAfterSeconds: seconds } : {}),
  }
}

function causeFrom(value: unknown): StatusCause[] {
  const fields = fieldsOf(value)
  if (fields === undefined) return []
  const message = fields['message']
  return [{ ...text(fields, 'reason'), message: typeof message === 'string' ? message : '', ...text(fields, 'field') }]
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

/** The field under its own name where it is text, nothing else. */
function text<Key extends string>(fields: Fields | undefined, key: Key): { [K in Key]?: string } {
  const value = fields?.[key]
  return typeof value === 'string' ? ({ [key]: value } as { [K in Key]?: string }) : {}
}

/**
 * The query of a list or watch, decoded and validated as a kube-apiserver does.
 * Source: apimachinery pkg/apis/meta/internalversion (ListOptions, defaults, validation), pkg/runtime/conversion.go.
 */
import type { FieldSelector } from '../kube/field-selector.ts'
import { parseFieldSelector } from '../kube/field-selector.ts'
import type { LabelSelector } from '../kube/label-selector.ts'
import { parseLabelSelector } from '../kube/label-selector.ts'
import type { StatusCause } from '../kube/status-error.ts'
import { badRequest, StatusError } from '../kube/status-error.ts'

export interface ListOptions {
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  /** As it came; empty where it is not given. */
  readonly resourceVersion: string
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan'
  /** Of a watch: begin with the present objects. undefined: neither asked for nor forbidden. */
  readonly sendInitialEvents: boolean | undefined
  readonly labelSelector: LabelSelector
  readonly fieldSelector: FieldSelector
  /** Above 0; undefined: no limit. */
  readonly limit: number | undefined
  /** The token as it came; empty on the first page. */
  readonly continue: string
  /** Above 0; undefined: the server's own. */
  readonly timeoutSeconds: number | undefined
}

/** Throws `badRequest` for what cannot be decoded, `invalid` with every fault for what does not fit together. */
export function parseListOptions(query: URLSearchParams, verb: 'list' | 'watch'): ListOptions {
  const options = withDefaults({
    watch: verb === 'watch',
    allowWatchBookmarks: parseBool(query.get('allowWatchBookmarks')) ?? false,
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: (query.get('resourceVersionMatch') ?? '') as ListOptions['resourceVersionMatch'],
    sendInitialEvents: parseBool(query.get('sendInitialEvents')),
    labelSelector: parseLabelSelector(query.get('labelSelector') ?? ''),
    fieldSelector: parseFieldSelector(query.get('fieldSelector') ?? ''),
    limit: parseCount(query, 'limit'),
    continue: query.get('continue') ?? '',
    timeoutSeconds: parseCount(query, 'timeoutSeconds'),
  })
  const faults = options.watch ? watchFaults(options) : listFaults(options)
  if (faults.length > 0) throw invalidListOptions(faults)
  return options
}

/** Anything but `false` and `0` is true, the empty text too; undefined where the parameter is absent. */
export function parseBool(text: string | null): boolean | undefined {
  if (text === null) return undefined
  return text !== '0' && text.toLowerCase() !== 'false'
}

function parseCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^[+-]?[0-9]{1,18}$/.test(text)) {
    const why = /^[+-]?[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax'
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 40))}: ${why}`)
  }
  const count = Number(text)
  return count > 0 ? count : undefined
}

/** A watch that starts without a version begins with the present objects: since 1.36 by the same means as a watch-list. */
function withDefaults(options: ListOptions): ListOptions {
  const legacy = options.resourceVersion === '' || options.resourceVersion === '0'
  const asked = options.sendInitialEvents !== undefined || options.resourceVersionMatch !== ''
  if (!options.watch || !legacy || asked) return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
}

function listFaults(options: ListOptions): StatusCause[] {
  const faults: StatusCause[] = []
  const match = options.resourceVersionMatch as string
  if (match !== '') {
    if (options.resourceVersion === '') {
      faults.push(forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided'))
    }
    if (options.continue !== '') {
      faults.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
    }
    if (match !== 'Exact' && match !== 'NotOlderThan')
      faults.push(unsupportedMatch(match, ['Exact', 'NotOlderThan', '']))
    if (match === 'Exact' && options.resourceVersion === '0') {
      faults.push(forbiddenMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    }
  }
  if (options.sendInitialEvents !== undefined) {
    faults.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return faults
}

function watchFaults(options: ListOptions): StatusCause[] {
  const faults: StatusCause[] = []
  const match = options.resourceVersionMatch as string
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    faults.push(forbiddenMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
  }
  if (match === '') return faults
  if (options.sendInitialEvents === undefined) {
    faults.push(forbiddenMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'))
  }
  if (match !== 'NotOlderThan') faults.push(unsupportedMatch(match, ['NotOlderThan']))
  if (options.continue !== '') {
    faults.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
  }
  return faults
}

function forbidden(field: string, message: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${message}`, field }
}

function forbiddenMatch(message: string): StatusCause {
  return forbidden('resourceVersionMatch', message)
}

function unsupportedMatch(match: string, values: readonly string[]): StatusCause {
  const supported = values.map((value) => JSON.stringify(value)).join(', ')
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(match.slice(0, 40))}: supported values: ${supported}`,
    field: 'resourceVersionMatch',
  }
}

function invalidListOptions(causes: readonly StatusCause[]): StatusError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`)
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  return new StatusError('invalid', `ListOptions.meta.k8s.io "" is invalid: ${all}`, {
    details: { group: 'meta.k8s.io', kind: 'ListOptions', causes },
  })
}

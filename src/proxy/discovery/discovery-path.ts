/** Which discovery document a path and an Accept header ask for. */
import { parseAccept } from '../../http/accept.ts'
import type { TextFormat } from '../../http/accept.ts'
import type { GroupVersion } from '../../kube/group-version.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { AggregatedVersion } from './documents.ts'

export type DiscoveryPath =
  | { readonly type: 'root'; readonly root: '/api' | '/apis' }
  | { readonly type: 'group'; readonly group: string }
  | { readonly type: 'version'; readonly groupVersion: GroupVersion }

/** undefined for a path that is no discovery. One slash at the end does no harm. */
export function parseDiscoveryPath(path: string): DiscoveryPath | undefined {
  const [, root, first, second, ...rest] = path.replace(/\/$/, '').split('/')
  if (rest.length > 0 || first === '' || second === '') return undefined
  if (root === 'api') {
    if (second !== undefined) return undefined
    return first === undefined ? { type: 'root', root: '/api' } : { type: 'version', groupVersion: core(first) }
  }
  if (root !== 'apis') return undefined
  if (first === undefined) return { type: 'root', root: '/apis' }
  if (second === undefined) return { type: 'group', group: first }
  return { type: 'version', groupVersion: { group: first, version: second } }
}

function core(version: string): GroupVersion {
  return { group: '', version }
}

export type DiscoveryForm =
  { readonly aggregated: AggregatedVersion } | { readonly aggregated: undefined; readonly format: TextFormat }

/** Only the roots have an aggregated form. Throws `notAcceptable`. */
export function discoveryForm(accept: string | undefined, { type }: DiscoveryPath): DiscoveryForm {
  if (accept === undefined || accept.trim() === '') return { aggregated: undefined, format: 'json' }
  for (const { type: media, subtype, params } of parseAccept(accept)) {
    if (media !== '*' && media !== 'application') continue
    const format = subtype === 'json' || subtype === '*' ? 'json' : subtype === 'yaml' ? 'yaml' : undefined
    if (format === undefined) continue
    const as = params.get('as')
    if (as === undefined) return { aggregated: undefined, format }
    const version = params.get('v')
    if (type !== 'root' || format !== 'json' || as !== 'APIGroupDiscoveryList') continue
    if (params.get('g') !== 'apidiscovery.k8s.io' || (version !== 'v2' && version !== 'v2beta1')) continue
    return { aggregated: version }
  }
  throw new StatusError(
    'notAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
  )
}

/** The content type of a form. */
export function contentTypeOf(form: DiscoveryForm): string {
  if (form.aggregated === undefined) return `application/${form.format}`
  return `application/json;g=apidiscovery.k8s.io;v=${form.aggregated};as=APIGroupDiscoveryList`
}

/**
 * What is translated in bodies on their way to a member: versions of many clusters into the member's own, and the two
 * annotations that name the cluster, which only we have put there.
 */
import { CACHED_FROM_CLUSTER_ANNOTATION, CLUSTER_NAME_ANNOTATION } from '../../kube/annotations.ts'
import { decodeVersionMap } from '../../kube/multi-cluster-version.ts'
import { REDACTED_ANNOTATION } from '../../kube/redaction.ts'
import type { ClusterName } from '../../kube/names.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'

export interface Rules {
  /** The cluster that the body goes to. */
  readonly owner: ClusterName
  /** Of the two annotations, those that the member's own object has, with its values. */
  readonly own: ReadonlyMap<string, string>
  /** The member's own object has annotations; undefined: not known. */
  readonly annotated: boolean | undefined
  /** The keys of its other annotations, where `own` has any: a patch that empties them all has to name them. */
  readonly others: readonly string[]
}

/**
 * `replace`: the body is the whole object (PUT, create), so that what the member's object has of its own is put back.
 * `apply`: it is what its author wants to own. `merge`: it is a patch; what it does not name stays by itself.
 */
export type Mode = 'replace' | 'apply' | 'merge'

/** Which part of a body holds preconditions, beside the objects' metadata. */
export type BodyShape = 'object' | 'deleteOptions' | 'eviction'

export const isClusterAnnotation = (key: string): boolean =>
  key === CACHED_FROM_CLUSTER_ANNOTATION || key === CLUSTER_NAME_ANNOTATION

/**
 * An annotation that goes out of a body. Throws `invalid` for the marker of a redacted object: what was taken out of it would be
 * written as it is shown.
 */
export function isTakenOut(key: string): boolean {
  if (key === REDACTED_ANNOTATION) throw redactedBody()
  return isClusterAnnotation(key)
}

function redactedBody(): StatusError {
  const message = `Forbidden: the object was shown without some of its values (${REDACTED_ANNOTATION}), and writing it would erase them: begin with what proxying/<any name>/proxy shows`
  const field = `metadata.annotations[${REDACTED_ANNOTATION}]`
  return new StatusError('invalid', `${field}: ${message}`, {
    details: { causes: [{ reason: 'FieldValueForbidden', message, field }] },
  })
}

const DECIMAL = /^[0-9]*$/

/**
 * The owner's version. Throws `conflict` for a version that knows nothing of the owner, `badRequest` for what is none: left
 * out, it would lose the check that its author asked for.
 */
export function ownersVersion(version: string, { owner }: Pick<Rules, 'owner'>): string {
  if (DECIMAL.test(version)) return version
  const map = decodeVersionMap(version)
  if (map === undefined) throw badVersion(JSON.stringify(version))
  const own = map.get(owner)
  if (own !== undefined) return own
  const others = map.size === 0 ? 'no cluster' : [...map.keys()].slice(0, 8).join(', ')
  throw new StatusError(
    'conflict',
    `Operation cannot be fulfilled: the resourceVersion is one of ${others}, the object is in cluster ${owner}; ` +
      'please apply your changes to the latest version and try again',
    { details: {} },
  )
}

export function badVersion(shown: string): StatusError {
  return badRequest(
    `resourceVersion: Invalid value: ${shown.slice(0, 128)}: it is no version that this server gave out`,
  )
}

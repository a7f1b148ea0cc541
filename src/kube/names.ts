/** Branded strings of the field: they cost nothing at run time and keep versions, names and keys apart. */
declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** The name of a member cluster. */
export type ClusterName = Branded<'ClusterName'>

/** A member's own resourceVersion: opaque. Only `compareResourceVersions` may look inside. */
export type ResourceVersion = Branded<'ResourceVersion'>

/** `namespace/name`, or `name` for cluster-scoped objects. */
export type ObjectKey = Branded<'ObjectKey'>

export function objectKey(namespace: string, name: string): ObjectKey {
  return (namespace === '' ? name : `${namespace}/${name}`) as ObjectKey
}

const DECIMAL = /^[0-9]+$/

/**
 * Orders two versions of one cluster: negative, 0 or positive; undefined where either is not a decimal (a server that is
 * not etcd-backed), so that nobody guesses. Parses to bigint: versions outgrow a JavaScript number.
 */
export function compareResourceVersions(a: ResourceVersion, b: ResourceVersion): number | undefined {
  if (a === b) return 0
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined
  const x = BigInt(a)
  const y = BigInt(b)
  return x < y ? -1 : x > y ? 1 : 0
}

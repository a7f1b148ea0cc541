import { partialObjectMetadata } from '../kube/canonical-object.ts'
import type { MetaVersion } from './accept.ts'

const V1_TYPE = Buffer.from('"apiVersion":"meta.k8s.io/v1"')
const V1BETA1_TYPE = Buffer.from('"apiVersion":"meta.k8s.io/v1beta1"')

/** A canonical object as PartialObjectMetadata of either version. */
export function partialObject(bytes: Uint8Array, version: MetaVersion): Uint8Array {
  const v1 = partialObjectMetadata(bytes)
  if (version === 'v1') return v1
  const at = v1.indexOf(V1_TYPE)
  return Buffer.concat([v1.subarray(0, at), V1BETA1_TYPE, v1.subarray(at + V1_TYPE.length)])
}

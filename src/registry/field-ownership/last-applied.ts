/**
 * What `kubectl apply` without `--server-side` left in an annotation: a later `--server-side` takes over the fields that are
 * still as it said, without conflicts, and keeps the annotation current.
 * Source: apimachinery pkg/util/managedfields/internal/{lastappliedmanager,lastappliedupdater}.go.
 */
import type { Shape } from '../schema.ts'
import { FieldSet } from './field-set.ts'
import { differenceOf, fieldsOf } from './typed-value.ts'

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'
export const KUBECTL = 'kubectl'

type Json = Readonly<Record<string, unknown>>

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function lastApplied(object: unknown): string {
  const text = asObject(asObject(asObject(object)['metadata'])['annotations'])[ANNOTATION]
  return typeof text === 'string' ? text : ''
}

/** The fields of the live object that still are what kubectl applied last. */
export function fieldsAsLastApplied(live: unknown, apiVersion: string, shape: Shape): FieldSet {
  const text = lastApplied(live)
  if (text === '') return FieldSet.EMPTY
  try {
    const config: unknown = JSON.parse(text)
    if (asObject(config)['apiVersion'] !== apiVersion) return FieldSet.EMPTY
    const { added, modified, removed } = differenceOf(config, live, shape)
    return fieldsOf(config, shape).difference(modified).difference(added).difference(removed)
  } catch {
    return FieldSet.EMPTY
  }
}

/** The object with the annotation telling of this configuration, where it has the annotation. */
export function withLastApplied(object: unknown, config: unknown): unknown {
  if (lastApplied(object) === '') return object
  const { metadata, ...rest } = asObject(object)
  const annotations = {
    ...asObject(asObject(metadata)['annotations']),
    [ANNOTATION]: `${JSON.stringify(own(config))}\n`,
  }
  return { ...rest, metadata: { ...asObject(metadata), annotations } }
}

/** Without the annotation itself. */
function own(config: unknown): unknown {
  const { metadata, ...rest } = asObject(config)
  const { annotations, ...more } = asObject(metadata)
  const { [ANNOTATION]: _, ...others } = asObject(annotations)
  return { ...rest, metadata: { ...more, ...(annotations === undefined ? {} : { annotations: others }) } }
}

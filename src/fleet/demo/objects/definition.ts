/** CustomResourceDefinitions and the types they add. */
import type { JsonObject } from '../../../kube/columns/column.ts'
import type { ResourceType } from '../resource-type.ts'
import { rfc3339 } from '../timestamp.ts'
import type { KubeObject } from './kinds.ts'

export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly priority?: number
  readonly description?: string
}

export interface CustomKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly description: string
  readonly spec: JsonObject
  readonly status?: JsonObject
  readonly columns: readonly PrinterColumn[]
}

export function customType(kind: CustomKind): ResourceType {
  return {
    group: kind.group,
    version: kind.version,
    resource: kind.plural,
    singular: kind.kind.toLowerCase(),
    kind: kind.kind,
    namespaced: kind.namespaced,
    custom: true,
    ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
    ...(kind.status === undefined ? {} : { subresources: [{ name: 'status', verbs: ['get', 'patch', 'update'] }] }),
  }
}

export function definition(kind: CustomKind, createdMs: number): KubeObject {
  const names = {
    plural: kind.plural,
    singular: kind.kind.toLowerCase(),
    ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    ...(kind.categories === undefined ? {} : { categories: kind.categories }),
  }
  const served = {
    name: kind.version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema(kind) },
    ...(kind.status === undefined ? {} : { subresources: { status: {} } }),
    additionalPrinterColumns: kind.columns,
  }
  const condition = (type: string, reason: string, message: string): JsonObject => ({
    type,
    status: 'True',
    lastTransitionTime: rfc3339(createdMs),
    reason,
    message,
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}`, generation: 1, creationTimestamp: rfc3339(createdMs) },
    spec: {
      group: kind.group,
      names,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      versions: [served],
      conversion: { strategy: 'None' },
    },
    status: {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: names,
      storedVersions: [kind.version],
    },
  }
}

function schema(kind: CustomKind): JsonObject {
  return {
    type: 'object',
    description: kind.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: kind.spec,
      ...(kind.status === undefined ? {} : { status: kind.status }),
    },
  }
}

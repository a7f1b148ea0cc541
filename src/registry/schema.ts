/**
 * The fields of a ResourceRegistry and their types, as the original's Go types have them, and who may own what of them
 * (server-side apply).
 */
export type Shape = 'string' | 'integer' | 'boolean' | 'time' | 'any' | List | { readonly map: Shape } | Fields

export interface List {
  readonly list: Shape
  /**
   * Items may have different owners: a set, told apart by their values, or a map, told apart by this field. Absent: one
   * owner has the whole list.
   */
  readonly by?: 'value' | 'uid'
}

export interface Fields {
  readonly fields: Readonly<Record<string, Shape>>
  /** There with their zero value where the body lacks them, as Go writes fields without omitempty. */
  readonly always?: readonly string[]
  /** One owner has all of it. */
  readonly atomic?: true
}

const STRINGS: Shape = { list: 'string' }

const REQUIREMENTS: Shape = {
  list: { fields: { key: 'string', operator: 'string', values: STRINGS }, always: ['key', 'operator'] },
}

const SEARCH_ENGINE: Shape = {
  fields: {
    addresses: STRINGS,
    secretRef: { fields: { namespace: 'string', name: 'string' }, always: ['namespace', 'name'] },
  },
  always: ['addresses'],
}

const CONDITION: Shape = {
  fields: {
    type: 'string',
    status: 'string',
    observedGeneration: 'integer',
    lastTransitionTime: 'time',
    reason: 'string',
    message: 'string',
  },
  always: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
}

export const MANAGED_FIELDS: List = { list: 'any' }

const METADATA: Fields = {
  always: ['name', 'uid', 'resourceVersion', 'creationTimestamp'],
  fields: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'string',
    resourceVersion: 'string',
    generation: 'integer',
    creationTimestamp: 'time',
    deletionTimestamp: 'time',
    deletionGracePeriodSeconds: 'integer',
    labels: { map: 'string' },
    annotations: { map: 'string' },
    ownerReferences: {
      by: 'uid',
      list: {
        fields: {
          apiVersion: 'string',
          kind: 'string',
          name: 'string',
          uid: 'string',
          controller: 'boolean',
          blockOwnerDeletion: 'boolean',
        },
        atomic: true,
      },
    },
    finalizers: { list: 'string', by: 'value' },
    managedFields: MANAGED_FIELDS,
  },
}

const SPEC: Fields = {
  always: ['targetCluster', 'resourceSelectors'],
  fields: {
    targetCluster: {
      fields: {
        clusterNames: STRINGS,
        exclude: STRINGS,
        labelSelector: {
          fields: { matchLabels: { map: 'string' }, matchExpressions: REQUIREMENTS },
          atomic: true,
        },
        fieldSelector: { fields: { matchExpressions: REQUIREMENTS } },
      },
    },
    resourceSelectors: {
      list: { fields: { apiVersion: 'string', kind: 'string', namespace: 'string' }, always: ['apiVersion', 'kind'] },
    },
    backendStore: { fields: { openSearch: SEARCH_ENGINE, elasticsearch: SEARCH_ENGINE } },
  },
}

const STATUS: Shape = { fields: { conditions: { list: CONDITION } } }

export const REGISTRY: Fields = {
  fields: { apiVersion: 'string', kind: 'string', metadata: METADATA, spec: SPEC, status: STATUS },
  always: ['metadata', 'spec', 'status'],
}

/** OpenAPI of our own group: the schema of ResourceRegistry, as v3 documents and as one v2 document. */
import { createHash } from 'node:crypto'
import { SEARCH_GROUP, SEARCH_GROUP_VERSION, SEARCH_VERSION } from '../api/resource-registry.ts'

type Schema = Readonly<Record<string, unknown>>

const string = (description: string): Schema => ({ type: 'string', description })
const listOf = (items: Schema, description: string): Schema => ({
  type: 'array',
  items,
  description,
  'x-kubernetes-list-type': 'atomic',
})
const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length === 0 ? {} : { required }),
})

const requirement = object(
  'A requirement: key, operator (In, NotIn, Exists, DoesNotExist) and values.',
  {
    key: string('Label or field.'),
    operator: string('How key and values relate.'),
    values: listOf({ type: 'string' }, 'Values.'),
  },
  ['key', 'operator'],
)

const engine = object('A search engine to mirror into.', {
  addresses: listOf({ type: 'string' }, 'http or https URLs of the engine.'),
  secretRef: object('Secret with username and password.', {
    namespace: string('Its namespace.'),
    name: string('Its name.'),
  }),
})

const spec = object(
  'Which resources of which clusters are cached and searched.',
  {
    targetCluster: object('Which clusters; empty matches every cluster.', {
      clusterNames: listOf({ type: 'string' }, 'Only these clusters.'),
      exclude: listOf({ type: 'string' }, 'All but these clusters.'),
      labelSelector: object('Clusters by label.', {
        matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
        matchExpressions: listOf(requirement, 'All must hold.'),
      }),
      fieldSelector: object('Clusters by provider, region or zone.', {
        matchExpressions: listOf(requirement, 'All must hold.'),
      }),
    }),
    resourceSelectors: listOf(
      object(
        'One kind, in one namespace or all.',
        {
          apiVersion: string('e.g. apps/v1.'),
          kind: string('e.g. Deployment.'),
          namespace: string('Empty: all namespaces.'),
        },
        ['apiVersion', 'kind'],
      ),
      'Which kinds.',
    ),
    backendStore: object('Where objects are mirrored besides the embedded store.', {
      openSearch: engine,
      elasticsearch: engine,
    }),
  },
  ['resourceSelectors'],
)

const status = object('What became of it.', {
  conditions: listOf({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, 'Conditions.'),
})

const typed = (extra: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> => ({
  apiVersion: string('Version of the schema.'),
  kind: string('Kind of the object.'),
  ...extra,
})
const metadata: Schema = {
  type: 'object',
  description: 'Standard metadata.',
  'x-kubernetes-preserve-unknown-fields': true,
}
const gvk = (kind: string): Schema => ({
  'x-kubernetes-group-version-kind': [{ group: SEARCH_GROUP, version: SEARCH_VERSION, kind }],
})

const PREFIX = 'io.karmada.search.v1alpha1'

function schemas(reference: (name: string) => string): Record<string, Schema> {
  const registry = object(
    'Configures the collection of resources of member clusters.',
    typed({ metadata, spec, status }),
  )
  const items = listOf({ $ref: reference(`${PREFIX}.ResourceRegistry`) }, 'The registries.')
  return {
    [`${PREFIX}.ResourceRegistry`]: { ...registry, ...gvk('ResourceRegistry') },
    [`${PREFIX}.ResourceRegistryList`]: {
      ...object('A list of registries.', typed({ metadata, items }), ['items']),
      ...gvk('ResourceRegistryList'),
    },
  }
}

const info = { title: 'Fleetsearch', version: SEARCH_VERSION }

/** Index of `/openapi/v3`. URLs carry the hash of what they name, so that clients may keep it for ever. */
export function openApiV3Index(): object {
  const path = `apis/${SEARCH_GROUP_VERSION}`
  return { paths: { [path]: { serverRelativeURL: `/openapi/v3/${path}?hash=${V3_HASH}` } } }
}

export const OPENAPI_V3: object = {
  openapi: '3.0.0',
  info,
  paths: {
    [`/apis/${SEARCH_GROUP_VERSION}/resourceregistries`]: {
      get: {
        operationId: 'listSearchKarmadaIoV1alpha1ResourceRegistry',
        'x-kubernetes-action': 'list',
        ...{
          'x-kubernetes-group-version-kind': { group: SEARCH_GROUP, version: SEARCH_VERSION, kind: 'ResourceRegistry' },
        },
        responses: {
          '200': {
            description: 'OK',
            content: {
              'application/json': { schema: { $ref: `#/components/schemas/${PREFIX}.ResourceRegistryList` } },
            },
          },
        },
      },
    },
  },
  components: { schemas: schemas((name) => `#/components/schemas/${name}`) },
}

const V3_HASH = createHash('sha512').update(JSON.stringify(OPENAPI_V3)).digest('hex').toUpperCase().slice(0, 128)

export const OPENAPI_V2: object = {
  swagger: '2.0',
  info,
  paths: {
    [`/apis/${SEARCH_GROUP_VERSION}/resourceregistries`]: {
      get: {
        operationId: 'listSearchKarmadaIoV1alpha1ResourceRegistry',
        responses: { '200': { description: 'OK', schema: { $ref: `#/definitions/${PREFIX}.ResourceRegistryList` } } },
      },
    },
  },
  definitions: schemas((name) => `#/definitions/${name}`),
}

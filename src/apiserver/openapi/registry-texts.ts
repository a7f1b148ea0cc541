/**
 * How the parts of a ResourceRegistry are called in OpenAPI, as the original and Kubernetes call them, and what they are
 * for. The fields and their types are those of registry/schema.ts.
 */
import { META } from './model.ts'

export interface Named {
  /** Of the definition; clients generated from it name their types so. */
  readonly name: string
  readonly text: string
  readonly fields: Readonly<Record<string, string>>
  /** Fields that must be there. Default: those that a stored registry always has. */
  readonly required?: readonly string[]
}

const KARMADA = 'com.github.karmada-io.karmada.pkg.apis'
const SEARCH = `${KARMADA}.search.v1alpha1`
export const REGISTRY_NAME = `${SEARCH}.ResourceRegistry`
export const searchName = (kind: string): string => `${SEARCH}.${kind}`

export const TYPE_META_TEXTS = {
  apiVersion: 'Group and version of this object, search.karmada.io/v1alpha1.',
  kind: 'What this object is. Never changes.',
}

const REQUIREMENT_VALUES =
  'The values that the operator compares with: at least one for In and NotIn, none for Exists and DoesNotExist.'

const SEARCH_ENGINE: Named = {
  name: `${SEARCH}.OpenSearchConfig`,
  text: 'A search engine, and the credentials for it.',
  fields: {
    addresses: 'URLs of its nodes, http or https. Requests go to those that answer.',
    secretRef: 'The Secret of the control plane that holds the credentials. Changes of it count at once.',
  },
}

const SECRET: Named = {
  name: `${KARMADA}.cluster.v1alpha1.LocalSecretReference`,
  text: 'Names a Secret of the control plane: username and password, or apiKey; ca.crt where the engine needs its own CA.',
  fields: { namespace: 'Namespace of the Secret.', name: 'Name of the Secret.' },
}

/** By where it stands in a registry; `[]`: each item of a list. */
export const NAMED: Readonly<Record<string, Named>> = {
  '': {
    name: REGISTRY_NAME,
    text: 'Says which resources of which member clusters are cached and can be searched.',
    required: [],
    fields: {
      ...TYPE_META_TEXTS,
      metadata: 'Name, labels and the like of this object.',
      spec: 'What is wanted.',
      status: 'What has become of it.',
    },
  },
  metadata: {
    name: `${META}.ObjectMeta`,
    text: 'What every stored object has: its name, its history and who looks after it.',
    required: [],
    fields: {
      name: 'Unique among the objects of a kind. Cannot be changed.',
      generateName: 'A prefix: with no name given, the server makes one by adding random characters to it.',
      namespace: 'Where objects of a namespaced kind live. Empty for those of the whole cluster.',
      selfLink: 'Not filled any more.',
      uid: 'Unique in time: an object deleted and created again under its name has another one. Set by the server.',
      resourceVersion:
        'Changes with each change of the object. Compare it for equality alone; send it with an update to refuse what was changed meanwhile.',
      generation: 'Counts the changes of what is wanted. Set by the server.',
      creationTimestamp: 'When the object was created, in UTC. Set by the server.',
      deletionTimestamp: 'When its deletion was asked for. The object goes as soon as it has no finalizers.',
      deletionGracePeriodSeconds: 'Seconds that the object is given to end by itself once it is deleted.',
      labels: 'Keys and values that selectors choose objects by.',
      annotations: 'Keys and values of any kind that tools keep with the object. Not for selectors.',
      ownerReferences: 'Objects that this one depends on: when all of them are gone it is collected.',
      finalizers: 'Who must do something before the object may go. Each takes its own entry away when it is done.',
      managedFields: 'Which manager set which fields, for server-side apply.',
    },
  },
  'metadata.ownerReferences[]': {
    name: `${META}.OwnerReference`,
    text: 'Names an object that owns this one; of the same namespace, or of the whole cluster.',
    required: ['apiVersion', 'kind', 'name', 'uid'],
    fields: {
      apiVersion: 'Group and version of the owner.',
      kind: 'Kind of the owner.',
      name: 'Name of the owner.',
      uid: 'UID of the owner.',
      controller: 'Whether this owner is the one that manages the object.',
      blockOwnerDeletion: 'Whether a foreground deletion of the owner waits for this object.',
    },
  },
  spec: {
    name: `${SEARCH}.ResourceRegistrySpec`,
    text: 'Which resources of which clusters are cached, and where they are indexed.',
    fields: {
      targetCluster: 'The member clusters. An empty one means all of them.',
      resourceSelectors: 'The resources. All objects of these kinds are cached.',
      backendStore: 'A search engine that the objects are indexed in as well. Left out: the embedded store alone.',
    },
  },
  'spec.targetCluster': {
    name: `${KARMADA}.policy.v1alpha1.ClusterAffinity`,
    text: 'Chooses member clusters: those that meet each condition given.',
    fields: {
      clusterNames: 'Names of clusters. Empty: of any name.',
      exclude: 'Names of clusters that are left out, whatever else chooses them.',
      labelSelector: 'Chooses clusters by their labels.',
      fieldSelector: 'Chooses clusters by provider, region or zone.',
    },
  },
  'spec.targetCluster.labelSelector': {
    name: `${META}.LabelSelector`,
    text: 'Chooses objects by labels; all parts must hold. An empty one chooses every object.',
    fields: {
      matchLabels: 'Labels that must have just these values.',
      matchExpressions: 'Requirements on labels; all must hold.',
    },
  },
  'spec.targetCluster.labelSelector.matchExpressions[]': {
    name: `${META}.LabelSelectorRequirement`,
    text: 'What is required of one label.',
    fields: {
      key: 'Key of the label.',
      operator: 'In, NotIn, Exists or DoesNotExist.',
      values: REQUIREMENT_VALUES,
    },
  },
  'spec.targetCluster.fieldSelector': {
    name: `${KARMADA}.policy.v1alpha1.FieldSelector`,
    text: 'Chooses clusters by fields of their spec.',
    fields: { matchExpressions: 'Requirements on fields; all must hold.' },
  },
  'spec.targetCluster.fieldSelector.matchExpressions[]': {
    name: 'io.k8s.api.core.v1.NodeSelectorRequirement',
    text: 'What is required of one key.',
    fields: {
      key: 'In a selector of cluster fields: provider, region or zone.',
      operator: 'In a selector of cluster fields: In or NotIn.',
      values: REQUIREMENT_VALUES,
    },
  },
  'spec.resourceSelectors[]': {
    name: `${SEARCH}.ResourceSelector`,
    text: 'One kind of resource.',
    fields: {
      apiVersion: 'Group and version of the kind, e.g. apps/v1.',
      kind: 'The kind, e.g. Deployment.',
      namespace: 'The namespace that its objects are cached of. Empty: all.',
    },
  },
  'spec.backendStore': {
    name: `${SEARCH}.BackendStoreConfig`,
    text: 'Where the objects are indexed besides the embedded store.',
    fields: { openSearch: 'An OpenSearch cluster.', elasticsearch: 'An Elasticsearch cluster.' },
  },
  'spec.backendStore.openSearch': SEARCH_ENGINE,
  'spec.backendStore.openSearch.secretRef': SECRET,
  'spec.backendStore.elasticsearch': SEARCH_ENGINE,
  'spec.backendStore.elasticsearch.secretRef': SECRET,
  status: {
    name: `${SEARCH}.ResourceRegistryStatus`,
    text: 'How far the registry is served.',
    fields: { conditions: 'Ready, Synced and BackendHealthy, kept true by the server.' },
  },
  'status.conditions[]': {
    name: `${META}.Condition`,
    text: 'One aspect of the state of an object.',
    fields: {
      type: 'Which aspect, e.g. Ready.',
      status: 'True, False or Unknown.',
      observedGeneration: 'The metadata.generation that this was found for. An older one: it is out of date.',
      lastTransitionTime: 'When the status changed last.',
      reason: 'Why, in one word for programs.',
      message: 'Why, for people.',
    },
  },
}

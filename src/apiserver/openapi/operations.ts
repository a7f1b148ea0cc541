/** Our paths and what can be done with them. Identifiers are made as a kube-apiserver makes them: clients are named so. */
import { SEARCH_GROUP, SEARCH_GROUP_VERSION } from '../../api/resource-registry.ts'
import { META, ownKind, type Method, type Operation, type PathItem, type Paths } from './model.ts'
import { DELETING, DELETING_MANY, NAME, PATCHING, PATH, PRETTY, WATCHING, WRITING } from './parameters.ts'
import { REGISTRY_NAME } from './registry-texts.ts'

const BASE = `/apis/${SEARCH_GROUP_VERSION}`
const GROUP_ID = 'SearchKarmadaIo'
const ID = `${GROUP_ID}V1alpha1`
const TAG = 'searchKarmadaIo_v1alpha1'

const OBJECT_TYPES = ['application/json', 'application/yaml']
const LIST_TYPES = [...OBJECT_TYPES, 'application/json;stream=watch']

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

export const GROUP_PATHS: Paths = {
  [`/apis/${SEARCH_GROUP}/`]: discoveryPath({
    id: `get${GROUP_ID}APIGroup`,
    text: 'get information of a group',
    tag: 'searchKarmadaIo',
    answer: `${META}.APIGroup`,
  }),
}

export const VERSION_PATHS: Paths = {
  [`${BASE}/`]: discoveryPath({
    id: `get${ID}APIResources`,
    text: 'get available resources',
    tag: TAG,
    answer: `${META}.APIResourceList`,
  }),
  ...connectPaths('proxying', 'Proxying', ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']),
  [`${BASE}/resourceregistries`]: { parameters: [PRETTY], operations: collection() },
  [`${BASE}/resourceregistries/{name}`]: {
    parameters: [NAME, PRETTY],
    operations: { ...readAndWrite('', ''), delete: remove() },
  },
  [`${BASE}/resourceregistries/{name}/status`]: {
    parameters: [NAME, PRETTY],
    operations: readAndWrite('status of ', 'Status'),
  },
  ...connectPaths('search', 'Search', ['get', 'post']),
}

type Discovery = Pick<Operation, 'id' | 'text' | 'tag' | 'answer'>

function discoveryPath(operation: Discovery): PathItem {
  return { parameters: [], operations: { get: { ...operation, answers: [200], produces: OBJECT_TYPES } } }
}

/** What every operation on registries has; answers one of them. */
function onRegistry(action: string, id: string, text: string): Omit<Operation, 'answers'> {
  const kind = ownKind('ResourceRegistry')
  return { id, text, action, kind, tag: TAG, produces: OBJECT_TYPES, answer: REGISTRY_NAME }
}

function collection(): PathItem['operations'] {
  const many = `${ID}CollectionResourceRegistry`
  return {
    get: {
      ...onRegistry('list', `list${ID}ResourceRegistry`, 'list or watch objects of kind ResourceRegistry'),
      parameters: WATCHING,
      answers: [200],
      answer: `${REGISTRY_NAME}List`,
      produces: LIST_TYPES,
    },
    post: {
      ...onRegistry('post', `create${ID}ResourceRegistry`, 'create a ResourceRegistry'),
      parameters: WRITING,
      body: wholeRegistry(),
      answers: [200, 201, 202],
    },
    delete: {
      ...onRegistry('deletecollection', `delete${many}`, 'delete collection of ResourceRegistry'),
      parameters: DELETING_MANY,
      body: deleteOptions(),
      answers: [200],
      answer: `${META}.Status`,
    },
  }
}

function readAndWrite(part: string, suffix: string): PathItem['operations'] {
  const text = (verb: string): string => `${verb} ${part}the specified ResourceRegistry`
  const id = (verb: string): string => `${verb}${ID}ResourceRegistry${suffix}`
  return {
    get: { ...onRegistry('get', id('read'), text('read')), answers: [200] },
    put: {
      ...onRegistry('put', id('replace'), text('replace')),
      parameters: WRITING,
      body: wholeRegistry(),
      answers: [200, 201],
    },
    patch: {
      ...onRegistry('patch', id('patch'), text('partially update')),
      parameters: PATCHING,
      body: { ref: `${META}.Patch`, types: PATCH_TYPES, required: true },
      answers: [200, 201],
    },
  }
}

function remove(): Operation {
  return {
    ...onRegistry('delete', `delete${ID}ResourceRegistry`, 'delete a ResourceRegistry'),
    parameters: DELETING,
    body: deleteOptions(),
    answers: [200, 202],
    answer: `${META}.Status`,
  }
}

function wholeRegistry(): Operation['body'] & object {
  return { ref: REGISTRY_NAME, types: ['*/*'], required: true }
}

function deleteOptions(): Operation['body'] & object {
  return { ref: `${META}.DeleteOptions`, types: ['*/*'], required: false }
}

/** With a path behind the name, and without. */
function connectPaths(resource: string, kind: 'Search' | 'Proxying', methods: readonly Method[]): Paths {
  const name = { ...NAME, text: `name of the ${kind}` }
  const path = `${BASE}/${resource}/{name}`
  return {
    [path]: { parameters: [name], operations: connections(kind, methods, '') },
    [`${path}/{path}`]: { parameters: [name, PATH], operations: connections(kind, methods, 'WithPath') },
  }
}

function connections(kind: string, methods: readonly Method[], suffix: string): PathItem['operations'] {
  const operations = methods.map((method): [Method, Operation] => {
    const verb = method.charAt(0).toUpperCase() + method.slice(1)
    const operation: Operation = {
      id: `connect${ID}${verb}${kind}${suffix}`,
      text: `connect ${method.toUpperCase()} requests to ${kind}`,
      tag: TAG,
      answers: [200],
      answer: undefined,
      produces: ['*/*'],
      action: 'connect',
      kind: ownKind(kind),
    }
    return [method, operation]
  })
  return Object.fromEntries(operations)
}

/** The definitions of a ResourceRegistry, from the fields that registry/schema.ts knows. */
import { REGISTRY, type Fields, type List, type Shape } from '../../registry/schema.ts'
import { META, meta, ownKind, type Definition, type Definitions, type Property, type Type } from './model.ts'
import { NAMED, REGISTRY_NAME, searchName, TYPE_META_TEXTS } from './registry-texts.ts'

const OBJECT_META: Property = { type: meta('ObjectMeta'), zero: true, text: 'Name, labels and the like.' }

/** ResourceRegistry, its list, and all that they are made of but the types of meta-model.ts. Throws for a part without name. */
export function registryDefinitions(): Definitions {
  const found: Record<string, Definition> = {}
  define(REGISTRY, '', found)
  const registry = found[REGISTRY_NAME] as Definition
  return {
    ...found,
    [REGISTRY_NAME]: { ...registry, kinds: [ownKind('ResourceRegistry')] },
    [`${REGISTRY_NAME}List`]: {
      text: 'ResourceRegistries.',
      kinds: [ownKind('ResourceRegistryList')],
      properties: {
        ...TYPE_META,
        metadata: { type: meta('ListMeta'), zero: true, text: 'Version and further pages of the list.' },
        items: { type: { list: { ref: REGISTRY_NAME } }, required: true, text: 'The registries, by name.' },
      },
    },
    [searchName('Search')]: {
      text: 'Reads what is cached of all clusters: search/cache/PATH, PATH as in a single cluster. No object of it is stored.',
      kinds: [ownKind('Search')],
      properties: { ...TYPE_META, metadata: OBJECT_META },
    },
    [searchName('Proxying')]: {
      text: 'Shows all clusters as one: proxying/karmada/proxy/PATH, PATH as in a single cluster. No object of it is stored.',
      kinds: [ownKind('Proxying')],
      properties: { ...TYPE_META, metadata: OBJECT_META },
    },
  }
}

const TYPE_META: Readonly<Record<string, Property>> = {
  apiVersion: { type: 'string', text: TYPE_META_TEXTS.apiVersion },
  kind: { type: 'string', text: TYPE_META_TEXTS.kind },
}

function define(shape: Fields, path: string, found: Record<string, Definition>): Type {
  const named = NAMED[path]
  if (named === undefined) throw new Error(`no name for ${path}`)
  const always = new Set(shape.always)
  const needed = new Set(named.required ?? shape.always)
  const properties = Object.entries(shape.fields).map(([field, of]): [string, Property] => {
    const required = needed.has(field)
    const isObject = typeof of === 'object' && 'fields' in of
    const zero = isObject ? always.has(field) : required && of === 'string'
    return [
      field,
      {
        type: typeOf(of, path === '' ? field : `${path}.${field}`, found),
        text: named.fields[field] ?? '',
        ...(required ? { required } : {}),
        ...(zero ? { zero } : {}),
      },
    ]
  })
  found[named.name] = {
    text: named.text,
    properties: Object.fromEntries(properties),
    ...(shape.atomic === true ? { atomic: true } : {}),
  }
  return { ref: named.name }
}

function typeOf(shape: Shape, path: string, found: Record<string, Definition>): Type {
  if (path === 'metadata.managedFields[]') return { ref: `${META}.ManagedFieldsEntry` }
  switch (shape) {
    case 'integer':
      return 'int64'
    case 'time':
      return meta('Time')
    case 'any':
      return 'object'
    case 'string':
    case 'boolean':
      return shape
    default:
      if ('list' in shape) return { list: typeOf(shape.list, `${path}[]`, found), owned: ownedBy(shape) }
      if ('map' in shape) return { map: typeOf(shape.map, `${path}[]`, found) }
      return define(shape, path, found)
  }
}

function ownedBy({ by }: List): 'atomic' | 'set' | { readonly key: string } {
  if (by === undefined) return 'atomic'
  return by === 'value' ? 'set' : { key: by }
}

/** Paths in the schemas of an OpenAPI 3 document of Kubernetes. */
import type { GroupVersionKind } from '../../kube/group-version.ts'

export interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-group-version-kind'?: readonly Partial<GroupVersionKind>[]
}

export type Schemas = Readonly<Record<string, Schema>>

/** References that lead to references: more than that is a circle. */
const MAX_REFERENCES = 16

/** Whether objects of the kind may have the path; lists on the way are no step of their own. */
export function hasPath(schemas: Schemas, gvk: GroupVersionKind, path: readonly string[]): boolean {
  const root = Object.values(schemas).find((schema) => schema['x-kubernetes-group-version-kind']?.some(isKind(gvk)))
  let level: Schema | undefined = root
  for (const step of path) {
    const node: Schema = elementOf(schemas, level)
    if (node['x-kubernetes-preserve-unknown-fields'] === true) return true
    level = childOf(node, step)
    if (level === undefined) return false
  }
  return level !== undefined
}

/** The schemas that a kind reaches, without anything but their structure. */
export function structureOf(schemas: Schemas, gvk: GroupVersionKind): Schemas {
  const kept: Record<string, Schema> = {}
  const wanted = Object.keys(schemas).filter((name) =>
    schemas[name]?.['x-kubernetes-group-version-kind']?.some(isKind(gvk)),
  )
  const bare = (schema: Schema): Schema => {
    if (schema.$ref !== undefined) wanted.push(nameOf(schema.$ref))
    const { properties, items, allOf, additionalProperties: more, $ref } = schema
    return {
      ...($ref === undefined ? {} : { $ref }),
      ...(allOf === undefined ? {} : { allOf: allOf.map(bare) }),
      ...(items === undefined ? {} : { items: bare(items) }),
      ...(more === undefined ? {} : { additionalProperties: typeof more === 'object' ? bare(more) : more }),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, bare(each)])) }),
      ...marksOf(schema),
    }
  }
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const schema = schemas[name]
    if (schema !== undefined && !Object.hasOwn(kept, name)) {
      kept[name] = {}
      kept[name] = bare(schema)
    }
  }
  return kept
}

const KEEPS = 'x-kubernetes-preserve-unknown-fields'
const KIND = 'x-kubernetes-group-version-kind'

function marksOf(schema: Schema): Schema {
  return {
    ...(schema[KEEPS] === undefined ? {} : { [KEEPS]: schema[KEEPS] }),
    ...(schema[KIND] === undefined ? {} : { [KIND]: schema[KIND] }),
  }
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function isKind({ group, version, kind }: GroupVersionKind): (gvk: Partial<GroupVersionKind>) => boolean {
  return (gvk) => (gvk.group ?? '') === group && gvk.version === version && gvk.kind === kind
}

function childOf({ properties, additionalProperties }: Schema, step: string): Schema | undefined {
  if (properties !== undefined && Object.hasOwn(properties, step)) return properties[step]
  if (additionalProperties === true) return {}
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** The schema behind references, of a list's elements. */
function elementOf(schemas: Schemas, schema: Schema | undefined): Schema {
  let node = schema ?? {}
  for (let i = 0; i < MAX_REFERENCES; i++) {
    const { $ref, allOf, items } = node
    if ($ref !== undefined) node = schemas[nameOf($ref)] ?? {}
    else if (allOf?.length === 1 && node.properties === undefined) node = allOf[0] as Schema
    else if (items !== undefined) node = items
    else return node
  }
  return {}
}

/** ResourceRegistries as bytes, in each representation a client may ask for. */
import type { ResourceRegistry } from '../../api/resource-registry.ts'
import type { Representation } from '../../http/accept.ts'
import { partialObject } from '../../http/partial.ts'
import { jsonToYaml } from '../../http/yaml.ts'
import type { KindColumns } from '../../kube/columns/column.ts'
import { renderTable, type IncludeObject } from '../../kube/table.ts'

export interface RenderOptions {
  readonly representation: Representation
  readonly columns: KindColumns
  readonly includeObject: IncludeObject
  /** Wall clock, for ages. */
  readonly nowMs: number
  /** Of a Table; default true. */
  readonly headers?: boolean
}

/** With kind and apiVersion, as they stand on their own. */
export function objectBytes(registry: ResourceRegistry): Buffer {
  return Buffer.from(JSON.stringify(registry))
}

/** As items of a list, whose own kind and apiVersion say theirs. */
export function itemBytes({ metadata, spec, status }: ResourceRegistry): Buffer {
  return Buffer.from(JSON.stringify({ metadata, spec, status }))
}

/** JSON on one line. */
export function renderJson(registry: ResourceRegistry, options: RenderOptions): Uint8Array {
  return represent(objectBytes(registry), registry.metadata.resourceVersion, options)
}

/** In the format asked for. */
export function render(registry: ResourceRegistry, options: RenderOptions): Uint8Array {
  const json = renderJson(registry, options)
  return options.representation.format === 'json' ? json : Buffer.from(jsonToYaml(json))
}

export function represent(bytes: Buffer, resourceVersion: string, options: RenderOptions): Uint8Array {
  const { representation, headers = true, ...rest } = options
  switch (representation.as) {
    case 'object':
      return bytes
    case 'partial':
      return partialObject(bytes, representation.version)
    case 'table': {
      const { version: apiVersion } = representation
      const table = renderTable({ ...rest, apiVersion, headers, objects: [{ bytes }], listMeta: { resourceVersion } })
      return table.subarray(0, table.lastIndexOf('}') + 1) // without its line break: an event is one line
    }
    default:
      return representation satisfies never
  }
}

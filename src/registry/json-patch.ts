/**
 * JSON patches (RFC 6902), as a kube-apiserver applies them. Left out: negative indexes, which no standard has.
 * Every failure is an `invalid` that names the operation; a document that is no patch is a `badRequest`.
 */
import { isDeepStrictEqual } from 'node:util'
import { badRequest, StatusError } from '../kube/status-error.ts'

const MAX_OPERATIONS = 10_000 // as in a kube-apiserver
const MAX_COPIED_BYTES = 3 * 1024 * 1024 // as much as a body may have: copies of copies grow fast

type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer }

/** Unescaped; empty: the whole document. */
type Pointer = readonly string[]

type Container = Record<string, unknown> | unknown[]

export type JsonPatch = (document: unknown) => unknown

/** Throws `badRequest` for what is no patch, `requestEntityTooLarge` for too many operations. */
export function parseJsonPatch(body: unknown): JsonPatch {
  if (!Array.isArray(body)) throw badRequest('a JSON patch must be a list of operations')
  if (body.length > MAX_OPERATIONS) {
    throw new StatusError(
      'requestEntityTooLarge',
      `the allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${body.length}`,
    )
  }
  const operations = (body as unknown[]).map(parseOperation)
  return (document) => {
    // One key above the document, so that replacing all of it is like any other.
    const root: Container = { '': structuredClone(document) }
    let copied = 0
    for (const [i, operation] of operations.entries()) {
      try {
        copied += apply(root, operation)
      } catch (error) {
        if (!(error instanceof PatchFault)) throw error
        throw new StatusError('invalid', `operation ${i} of the JSON patch cannot be carried out: ${error.message}`)
      }
      if (copied > MAX_COPIED_BYTES) {
        throw new StatusError('requestEntityTooLarge', `the JSON patch copies more than ${MAX_COPIED_BYTES} bytes`)
      }
    }
    return root['']
  }
}

class PatchFault extends Error {}

function parseOperation(item: unknown, i: number): Operation {
  const fault = (why: string): Error => badRequest(`operation ${i} of the JSON patch: ${why}`)
  if (typeof item !== 'object' || item === null) throw fault('not an object')
  const { op, path, from, value } = item as Record<string, unknown>
  const pointer = (field: string, text: unknown): Pointer => {
    if (typeof text !== 'string' || !(text === '' || text.startsWith('/')))
      throw fault(`${field} is not a JSON pointer`)
    const steps = text.split('/').slice(1)
    return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(item, 'value')) throw fault('value is missing')
      return { op, path: pointer('path', path), value }
    case 'remove':
      return { op, path: pointer('path', path) }
    case 'move':
    case 'copy':
      return { op, path: pointer('path', path), from: pointer('from', from) }
    default:
      throw fault(`unknown op ${JSON.stringify(op)}`)
  }
}

/** Returns how many bytes it copied. */
function apply(root: Container, operation: Operation): number {
  const path = ['', ...operation.path]
  switch (operation.op) {
    case 'add':
      add(root, path, structuredClone(operation.value))
      return 0
    case 'replace':
      remove(root, path)
      add(root, path, structuredClone(operation.value))
      return 0
    case 'remove':
      remove(root, path)
      return 0
    case 'test':
      test(root, path, operation.value)
      return 0
    case 'move': {
      const from = ['', ...operation.from]
      if (path.length > from.length && isDeepStrictEqual(path.slice(0, from.length), from)) {
        throw new PatchFault('a value cannot be moved into itself')
      }
      add(root, path, remove(root, from))
      return 0
    }
    case 'copy': {
      const value = get(root, ['', ...operation.from])
      add(root, path, structuredClone(value))
      return JSON.stringify(value)?.length ?? 0
    }
    default:
      return operation satisfies never
  }
}

function test(root: Container, path: Pointer, expected: unknown): void {
  const { container, key } = place(root, path)
  const present = Object.hasOwn(container, key) ? (container as Record<string, unknown>)[key] : null
  if (!isDeepStrictEqual(present, expected)) throw new PatchFault(`the value at ${text(path)} is another`)
}

function get(root: Container, path: Pointer): unknown {
  const { container, key } = place(root, path)
  if (!Object.hasOwn(container, key)) throw new PatchFault(`there is nothing at ${text(path)}`)
  return (container as Record<string, unknown>)[key]
}

function remove(root: Container, path: Pointer): unknown {
  const value = get(root, path)
  const { container, key } = place(root, path)
  if (Array.isArray(container)) container.splice(Number(key), 1)
  else Reflect.deleteProperty(container, key)
  return value
}

function add(root: Container, path: Pointer, value: unknown): void {
  const { container, key } = place(root, path)
  if (!Array.isArray(container)) {
    // Defines `__proto__` as a key like any other.
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true })
    return
  }
  const index = key === '-' ? container.length : isIndex(key) ? Number(key) : -1
  if (index < 0 || index > container.length) throw new PatchFault(`there is no place at ${text(path)}`)
  container.splice(index, 0, value)
}

/** What holds the value at the path, which itself need not be there. */
function place(root: Container, path: Pointer): { readonly container: Container; readonly key: string } {
  let container: unknown = root
  for (const step of path.slice(0, -1)) {
    const isStep = Array.isArray(container) ? isIndex(step) : true
    if (!isContainer(container) || !isStep || !Object.hasOwn(container, step)) {
      throw new PatchFault(`there is nothing above ${text(path)}`)
    }
    container = (container as Record<string, unknown>)[step]
  }
  const key = path.at(-1) ?? ''
  if (!isContainer(container)) throw new PatchFault(`there is nothing above ${text(path)}`)
  if (Array.isArray(container) && key !== '-' && !isIndex(key)) throw new PatchFault(`${text(path)} is no index`)
  return { container, key }
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

function isIndex(step: string): boolean {
  return /^(0|[1-9][0-9]{0,9})$/.test(step)
}

function text(path: Pointer): string {
  return JSON.stringify(
    path
      .slice(1)
      .map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      .join(''),
  )
}

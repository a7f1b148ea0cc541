/**
 * Translates JSON patches (RFC 6902) operation by operation. What a client was shown and tests or changes of the two cluster
 * annotations never reaches the member, whose object does not have them.
 */
import type { Edit, JsonMember } from '../../kube/json-splice.ts'
import { elementsOf, isArray, membersOf, removals } from '../../kube/json-splice.ts'
import type { Span } from '../../kube/object-spans.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import { annotationEdits, metadataEdits, objectEdits, textOf, versionEdits } from './json-object.ts'
import { isTakenOut, type Rules } from './rules.ts'

/** An operation stays with edits in it, gives way to another text, or is dropped. */
type Change = { readonly edits: readonly Edit[] } | { readonly text: string } | 'dropped'

export function jsonPatchEdits(bytes: Buffer, whole: Span, rules: Rules): Edit[] {
  if (!isArray(bytes, whole.start)) throw badRequest('a JSON patch is an array of operations')
  const operations = elementsOf(bytes, whole.start)
  const changes = operations.map((operation) => changeOf(bytes, operation, rules))
  const edits = removals(operations, (i) => changes[i] === 'dropped')
  changes.forEach((change, i) => {
    if (change === 'dropped') return
    if ('edits' in change) edits.push(...change.edits)
    else edits.push({ ...(operations[i] as Span), insert: Buffer.from(change.text) })
  })
  if (needsAnnotations(bytes, operations, rules)) {
    const at = whole.start + 1
    edits.push({ start: at, end: at, insert: Buffer.from(`${MAKE_ANNOTATIONS},`) })
  }
  return edits
}

/**
 * Clients see annotations on every object and add to them, or take them away; the member's object may have none. The test keeps
 * annotations that came meanwhile from being replaced by nothing.
 */
const MAKE_ANNOTATIONS = [
  { op: 'test', path: '/metadata/annotations', value: null },
  { op: 'add', path: '/metadata/annotations', value: {} },
]
  .map((operation) => JSON.stringify(operation))
  .join(',')

/** The first operation about them takes them for given. */
function needsAnnotations(bytes: Buffer, operations: readonly Span[], { annotated }: Rules): boolean {
  if (annotated !== false) return false
  for (const { start } of operations) {
    const { op = '', path, from = [] } = pointersOf(bytes, membersOf(bytes, start))
    if (isCluster(path)) continue
    if (isAnnotations(from)) return true
    if (isAnnotations(path)) return ['remove', 'replace', 'test'].includes(op)
    if (path.length === 3 && isAnnotations(path.slice(0, 2))) return ['add', 'copy', 'move'].includes(op)
    if (path.length < 2) return false
  }
  return false
}

function changeOf(bytes: Buffer, { start }: Span, rules: Rules): Change {
  const members = membersOf(bytes, start)
  const { op, path, from } = pointersOf(bytes, members)
  if (isCluster(path)) return ofClusterAnnotation(bytes, members, op, rules)
  if (from !== undefined && isCluster(from)) {
    const added = { op: 'add', path: textOf(bytes, members, 'path'), value: rules.owner }
    return { text: JSON.stringify(added) }
  }
  const emptying = rules.own.size > 0 ? emptiedAnnotations(bytes, members, { op, path, from }, rules) : undefined
  if (emptying !== undefined) return emptying
  const values = members.filter(({ key }) => key === 'value')
  // Of an object that has none of its own, none are `{}`: they have been made before (`MAKE_ANNOTATIONS`).
  const none = op === 'test' && rules.annotated === false ? '{}' : 'null'
  return {
    edits: values.flatMap(({ valueStart, end }) => valueEdits(bytes, { start: valueStart, end }, path, rules, none)),
  }
}

interface Pointers {
  readonly op: string | undefined
  readonly path: readonly string[]
  readonly from: readonly string[] | undefined
}

function pointersOf(bytes: Buffer, members: readonly JsonMember[]): Pointers {
  const op = textOf(bytes, members, 'op')
  return {
    op,
    path: pointer(textOf(bytes, members, 'path') ?? ''),
    from: op === 'copy' || op === 'move' ? pointer(textOf(bytes, members, 'from') ?? '') : undefined,
  }
}

/** All annotations go, by `remove` or `move`: the member's own stay. */
function emptiedAnnotations(
  bytes: Buffer,
  members: readonly JsonMember[],
  { op, path, from }: Pointers,
  { own }: Rules,
): Change | undefined {
  const kept = JSON.stringify({ op: 'replace', path: '/metadata/annotations', value: Object.fromEntries(own) })
  if (op === 'remove' && isAnnotations(path)) return { text: kept }
  if (op !== 'move' || from === undefined || !isAnnotations(from)) return undefined
  const copy = { op: 'copy', from: textOf(bytes, members, 'from'), path: textOf(bytes, members, 'path') }
  return { text: `${JSON.stringify(copy)},${kept}` }
}

const isAnnotations = (path: readonly string[]): boolean =>
  path.length === 2 && path[0] === 'metadata' && path[1] === 'annotations'

function ofClusterAnnotation(bytes: Buffer, members: readonly JsonMember[], op = '', { owner }: Rules): Change {
  if (op === 'test' && textOf(bytes, members, 'value') !== owner) {
    const path = textOf(bytes, members, 'path') ?? ''
    throw new StatusError('invalid', `the server rejected our request: testing value ${path} failed`, { details: {} })
  }
  const from = op === 'move' ? textOf(bytes, members, 'from') : undefined
  return from === undefined ? 'dropped' : { text: JSON.stringify({ op: 'remove', path: from }) }
}

function valueEdits(bytes: Buffer, value: Span, path: readonly string[], rules: Rules, none: '{}' | 'null'): Edit[] {
  const [first, second] = path
  if (path.length === 0) return objectEdits(bytes, value.start, rules, 'replace')
  if (first !== 'metadata' || path.length > 2) return []
  if (second === undefined) return metadataEdits(bytes, value.start, rules, 'replace')
  if (second === 'resourceVersion') return versionEdits(bytes, value, rules)
  if (second !== 'annotations') return []
  const edits = annotationEdits(bytes, value, rules, 'replace')
  return edits === 'emptied' ? [{ ...value, insert: Buffer.from(none) }] : edits
}

/** Source: RFC 6901. */
function pointer(text: string): string[] {
  return text
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function isCluster(path: readonly string[]): boolean {
  return path.length === 3 && path[0] === 'metadata' && path[1] === 'annotations' && isTakenOut(path[2] as string)
}

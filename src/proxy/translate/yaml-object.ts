/**
 * Translates objects in YAML: places in the text change, the text is not written anew, so that comments, the style of
 * numbers and YAML 1.1's words stay what they were.
 *
 * Anchors, aliases and merge keys inside `metadata` are refused: taking something out there would change what stands
 * elsewhere.
 */
import { isAlias, isMap, isNode, isScalar, isSeq, parseAllDocuments, type Pair, type YAMLMap } from 'yaml'
import type { Span } from '../../kube/object-spans.ts'
import { badRequest } from '../../kube/status-error.ts'
import { badVersion, isTakenOut, ownersVersion, type Mode, type Rules, type BodyShape } from './rules.ts'

/** A change of characters, not of bytes. */
type TextEdit = Span & { readonly insert: string }

export function translateYaml(text: string, rules: Rules, mode: Mode, shape: BodyShape): string {
  const documents = parseAllDocuments(text, { uniqueKeys: false, merge: false, logLevel: 'silent' })
  const [document, ...others] = Array.isArray(documents) ? documents : []
  if (document === undefined || document.contents === null) return text
  if (others.length > 0) throw badRequest('the body has more than one YAML document')
  const [fault] = document.errors
  if (fault !== undefined) throw badRequest(`the body is no YAML: ${fault.message.split('\n', 1)[0] ?? ''}`)
  const root: unknown = document.contents
  if (!isMap(root)) throw badRequest('the body is no YAML mapping')
  const edits = shape === 'deleteOptions' ? preconditionEdits(root, rules) : objectEdits(text, root, rules, mode)
  if (shape === 'eviction')
    edits.push(...valuesOf(root, 'deleteOptions').flatMap((map) => preconditionEdits(map, rules)))
  return spliced(text, edits)
}

function objectEdits(text: string, map: YAMLMap, rules: Rules, mode: Mode): TextEdit[] {
  if (map.items.some((pair) => keyOf(pair) === '<<')) throw unclear()
  const edits = valuesOf(map, 'metadata').flatMap((metadata) => metadataEdits(text, metadata, rules, mode))
  const kind = map.items.findLast((pair) => keyOf(pair) === 'kind')?.value
  if (!isScalar(kind) || !String(kind.value).endsWith('List')) return edits
  const lists = map.items.filter((pair) => keyOf(pair) === 'items').map(({ value }) => value)
  const items = lists.flatMap((list) => (isSeq(list) ? list.items : []))
  return [...edits, ...items.flatMap((item) => (isMap(item) ? objectEdits(text, item, rules, mode) : []))]
}

function preconditionEdits(options: YAMLMap, rules: Rules): TextEdit[] {
  return valuesOf(options, 'preconditions').flatMap((map) => versionsIn(map, rules))
}

function metadataEdits(text: string, metadata: YAMLMap, rules: Rules, mode: Mode): TextEdit[] {
  refuseAnchors(metadata)
  const edits = versionsIn(metadata, rules)
  const pairs = metadata.items.filter((pair) => keyOf(pair) === 'annotations')
  for (const pair of pairs) {
    const change = annotationEdits(text, pair, rules, mode)
    if (change === 'emptied') edits.push(removal(text, metadata, metadata.items.indexOf(pair)))
    else edits.push(...change)
  }
  if (mode === 'replace' && rules.own.size > 0 && pairs.length === 0) {
    edits.push(insertion(text, metadata, [['annotations', flow(rules.own)]]))
  }
  return edits
}

function versionsIn(map: YAMLMap, rules: Rules): TextEdit[] {
  return map.items.filter((pair) => keyOf(pair) === 'resourceVersion').flatMap((pair) => versionEdit(pair, rules))
}

function versionEdit({ value }: Pair, rules: Rules): TextEdit[] {
  if (value === null) return []
  if (!isScalar(value)) throw badVersion('neither text nor number')
  // A number without quotes is the member's to judge: it is no version of many clusters.
  if (value.value === null || typeof value.value === 'number' || typeof value.value === 'bigint') return []
  const version = String(value.value)
  const own = ownersVersion(version, rules)
  if (own === version) return []
  return [{ ...spanOf(value), insert: JSON.stringify(own) }]
}

function annotationEdits(text: string, pair: Pair, rules: Rules, mode: Mode): TextEdit[] | 'emptied' {
  const { own } = rules
  const { value: map } = pair
  if (!isMap(map)) return mode === 'replace' && own.size > 0 ? [nullValue(pair, flow(own))] : []
  const stays = (each: Pair): boolean => !isTakenOut(keyOf(each)) || (mode !== 'merge' && own.has(keyOf(each)))
  const missing = mode === 'replace' ? [...own].filter(([key]) => !map.items.some((each) => keyOf(each) === key)) : []
  const anyStays = map.items.some(stays)
  if (map.items.length > 0 && !anyStays)
    return missing.length === 0 ? 'emptied' : [nullValue(pair, flow(new Map(missing)))]
  const edits: TextEdit[] = []
  map.items.forEach((each, i) => {
    const ownValue = mode === 'merge' || !isTakenOut(keyOf(each)) ? undefined : own.get(keyOf(each))
    if (!stays(each)) edits.push(removal(text, map, i))
    else if (ownValue !== undefined && isNode(each.value)) {
      edits.push({ ...spanOf(each.value), insert: JSON.stringify(ownValue) })
    }
  })
  if (missing.length > 0)
    edits.push(
      insertion(
        text,
        map,
        missing.map(([key, value]) => [key, JSON.stringify(value)]),
      ),
    )
  return edits
}

const flow = (values: ReadonlyMap<string, string>): string => JSON.stringify(Object.fromEntries(values))

/** Puts a flow value where another one stands, or none. */
function nullValue({ key, value }: Pair, insert: string): TextEdit {
  if (!isNode(value)) {
    const { end } = spanOf(key)
    return { start: end + 1, end: end + 1, insert: ` ${insert}` }
  }
  return { ...spanOf(value), insert }
}

/** Members in front of all others, in the style of the map. */
function insertion(text: string, map: YAMLMap, members: readonly (readonly [string, string])[]): TextEdit {
  const written = members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`)
  const [first] = map.items
  if (map.flow === true) {
    const at = spanOf(map).start + 1
    return { start: at, end: at, insert: `${written.join(', ')}${first === undefined ? '' : ', '}` }
  }
  const at = spanOf(first?.key).start
  const indent = ' '.repeat(at - lineStart(text, at))
  return { start: at, end: at, insert: written.map((line) => `${line}\n${indent}`).join('') }
}

/** Takes one member out: its lines, or with one comma in flow style. */
function removal(text: string, map: YAMLMap, index: number): TextEdit {
  const pair = map.items[index] as Pair
  const { start } = spanOf(pair.key)
  const end = endOf(pair)
  const next = map.items[index + 1]
  const before = map.items[index - 1]
  if (map.flow === true) {
    if (next !== undefined) return { start, end: spanOf(next.key).start, insert: '' }
    return { start: before === undefined ? start : endOf(before), end, insert: '' }
  }
  const line = lineStart(text, start)
  const own = text.slice(line, start).trim() === ''
  // First in a line with something before it (`- annotations:`): the next member takes its place.
  if (!own) return { start, end: next === undefined ? end : spanOf(next.key).start, insert: '' }
  const behind = text.indexOf('\n', Math.max(end - 1, start))
  return { start: line, end: behind === -1 ? text.length : behind + 1, insert: '' }
}

/** Behind the value, without the line break that ends it. */
function endOf({ key, value }: Pair): number {
  return isNode(value) ? spanOf(value).end : spanOf(key).end + 1
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function spanOf(node: unknown): Span {
  const range = isNode(node) ? node.range : undefined
  if (range === null || range === undefined) throw unclear()
  return { start: range[0], end: range[1] }
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : ''
}

function valuesOf(map: YAMLMap, key: string): YAMLMap[] {
  return map.items
    .filter((pair) => keyOf(pair) === key)
    .flatMap(({ value }) => {
      if (isAlias(value)) throw unclear()
      return isMap(value) ? [value] : []
    })
}

function refuseAnchors(map: YAMLMap): void {
  if (map.anchor !== undefined) throw unclear()
  for (const pair of map.items) {
    const key = keyOf(pair)
    if (key === '<<') throw unclear()
    if (key !== 'annotations' && key !== 'resourceVersion') continue
    if (isAlias(pair.value) || (isNode(pair.value) && 'anchor' in pair.value && pair.value.anchor !== undefined))
      throw unclear()
    if (isMap(pair.value)) refuseInside(pair.value)
  }
}

function refuseInside({ items }: YAMLMap): void {
  for (const pair of items) {
    const anchored = isNode(pair.value) && 'anchor' in pair.value && pair.value.anchor !== undefined
    const named = isAlias(pair.key) || keyOf(pair) === '<<'
    if (named || (anchored && isTakenOut(keyOf(pair)))) throw unclear()
  }
}

function unclear(): Error {
  return badRequest('metadata with YAML anchors, aliases or merge keys is not taken here: write it out, or as JSON')
}

function spliced(text: string, edits: readonly TextEdit[]): string {
  let result = ''
  let from = 0
  for (const { start, end, insert } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(from, Math.max(start, from)) + insert
    from = Math.max(end, from)
  }
  return result + text.slice(from)
}

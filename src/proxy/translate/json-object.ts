/** Translates objects in JSON. Duplicate keys are translated one by one, for a server may take any of them, or join them. */
import type { Edit, JsonMember } from '../../kube/json-splice.ts'
import {
  elementsOf,
  insertMembers,
  isNull,
  isObject,
  isString,
  membersOf,
  removals,
  stringAt,
} from '../../kube/json-splice.ts'
import type { Span } from '../../kube/object-spans.ts'
import { badVersion, isTakenOut, ownersVersion, type Mode, type Rules } from './rules.ts'

/** Of an object, or of a list and its items, at `start`. */
export function objectEdits(bytes: Buffer, start: number, rules: Rules, mode: Mode): Edit[] {
  const members = membersOf(bytes, start)
  const inside = patchDirective(bytes, members) === 'replace' ? 'replace' : mode
  const edits = members
    .filter(({ key }) => key === 'metadata')
    .flatMap(({ valueStart }) => metadataEdits(bytes, valueStart, rules, inside))
  if (!isList(bytes, members)) return edits
  const items = members.filter(({ key }) => key === 'items').flatMap(({ valueStart }) => elementsOf(bytes, valueStart))
  return [...edits, ...items.flatMap((item) => objectEdits(bytes, item.start, rules, mode))]
}

/** Of `DeleteOptions`. */
export function deleteOptionsEdits(bytes: Buffer, start: number, rules: Rules): Edit[] {
  return membersOf(bytes, start)
    .filter(({ key }) => key === 'preconditions')
    .flatMap(({ valueStart }) => membersOf(bytes, valueStart))
    .filter(({ key }) => key === 'resourceVersion')
    .flatMap(({ valueStart, end }) => versionEdits(bytes, { start: valueStart, end }, rules))
}

/** Of an Eviction: an object with `deleteOptions` in it. */
export function evictionEdits(bytes: Buffer, start: number, rules: Rules): Edit[] {
  const options = membersOf(bytes, start).filter(({ key }) => key === 'deleteOptions')
  return [
    ...objectEdits(bytes, start, rules, 'merge'),
    ...options.flatMap(({ valueStart }) => deleteOptionsEdits(bytes, valueStart, rules)),
  ]
}

export function versionEdits(bytes: Buffer, value: Span, rules: Rules): Edit[] {
  if (isNull(bytes, value.start)) return []
  if (!isString(bytes, value.start)) throw badVersion(bytes.toString('utf8', value.start, value.end))
  const version = stringAt(bytes, value)
  const own = ownersVersion(version, rules)
  return own === version ? [] : [{ ...value, insert: Buffer.from(JSON.stringify(own)) }]
}

export function metadataEdits(bytes: Buffer, start: number, rules: Rules, mode: Mode): Edit[] {
  if (!isObject(bytes, start)) return []
  const members = membersOf(bytes, start)
  const inside = patchDirective(bytes, members) === 'replace' ? 'replace' : mode
  const edits = members
    .filter(({ key }) => key === 'resourceVersion')
    .flatMap(({ valueStart, end }) => versionEdits(bytes, { start: valueStart, end }, rules))
  const emptied = new Set<number>()
  members.forEach(({ key, valueStart, end }, i) => {
    if (key !== 'annotations') return
    const change = annotationEdits(bytes, { start: valueStart, end }, rules, inside)
    if (change === 'emptied') emptied.add(i)
    else edits.push(...change)
  })
  edits.push(...removals(members, (i) => emptied.has(i)))
  const missing = inside === 'replace' && rules.own.size > 0 && !members.some(({ key }) => key === 'annotations')
  if (missing) edits.push(insertMembers(bytes, start, [['annotations', Object.fromEntries(rules.own)]]))
  return edits
}

/** `emptied`: nothing is left, and nothing was meant to be there but ours. */
export function annotationEdits(bytes: Buffer, value: Span, rules: Rules, mode: Mode): Edit[] | 'emptied' {
  const { own } = rules
  if (!isObject(bytes, value.start)) {
    return own.size > 0 && isNull(bytes, value.start) ? [emptied(value, rules, mode)] : []
  }
  const members = membersOf(bytes, value.start)
  if (mode === 'merge' && own.size > 0 && patchDirective(bytes, members) === 'delete') {
    return [emptied(value, rules, mode)]
  }
  const inside = patchDirective(bytes, members) === 'replace' ? 'replace' : mode
  const stays = ({ key }: JsonMember): boolean => !isTakenOut(key) || (inside !== 'merge' && own.has(key))
  const missing = inside === 'replace' ? [...own].filter(([key]) => !members.some((member) => member.key === key)) : []
  if (members.length > 0 && missing.length === 0 && !members.some(stays)) return 'emptied'
  const edits = removals(members, (i) => !stays(members[i] as JsonMember))
  for (const { key, valueStart, end } of members) {
    const ownValue = inside === 'merge' || !isTakenOut(key) ? undefined : own.get(key)
    if (ownValue !== undefined) edits.push({ start: valueStart, end, insert: Buffer.from(JSON.stringify(ownValue)) })
  }
  if (missing.length === 0) return edits
  const anyStays = members.some(stays)
  return anyStays || members.length === 0
    ? [...edits, insertMembers(bytes, value.start, missing)]
    : [{ ...value, insert: Buffer.from(JSON.stringify(Object.fromEntries(missing))) }]
}

/**
 * Instead of what would take all annotations away, the member's own among them. A patch has no word for all but some: it names
 * the others. One that comes to the object meanwhile stays, as if it had come after the patch.
 */
function emptied(value: Span, { own, others }: Rules, mode: Mode): Edit {
  const left = mode === 'merge' ? others.map((key): [string, null] => [key, null]) : [...own]
  return { ...value, insert: Buffer.from(JSON.stringify(Object.fromEntries<string | null>(left))) }
}

/** `$patch` of a strategic merge patch: `replace` makes a patch the whole. */
function patchDirective(bytes: Buffer, members: readonly JsonMember[]): string | undefined {
  return textOf(bytes, members, '$patch')
}

function isList(bytes: Buffer, members: readonly JsonMember[]): boolean {
  return textOf(bytes, members, 'kind')?.endsWith('List') === true
}

/** The last string of that key. */
export function textOf(bytes: Buffer, members: readonly JsonMember[], key: string): string | undefined {
  const member = members.findLast((each) => each.key === key)
  if (member === undefined || !isString(bytes, member.valueStart)) return undefined
  return stringAt(bytes, { start: member.valueStart, end: member.end })
}

/** What the value behind `=`, `<` and the like means for a field of given types. */
import type { ColumnType } from '../kube/columns/column.ts'
import {
  IP,
  NUMBER,
  sortableIp,
  sortableMs,
  sortableNumber,
  sortableTime,
  sortableVersion,
  TIME,
  VERSION,
} from './sortable.ts'
import type { SortableMark } from './sortable.ts'
import { exactValue } from './tokens.ts'

export type Comparison = '=' | '<' | '<=' | '>' | '>='

export type Bound =
  | { readonly type: 'exact'; readonly value: string }
  | { readonly type: 'compare'; readonly comparison: Comparison; readonly mark: SortableMark; readonly key: string }

/** Every reading that fits one of the types; empty where none does. An age (`7d`) counts back from now. */
export function typedBounds(
  types: ReadonlySet<ColumnType | 'json'>,
  comparison: Comparison,
  text: string,
  nowMs: number,
): readonly Bound[] {
  return [...types].flatMap((type) => boundsOf(type, comparison, text, nowMs))
}

function boundsOf(type: ColumnType | 'json', comparison: Comparison, text: string, nowMs: number): readonly Bound[] {
  const compare = (mark: SortableMark, key: string | undefined): Bound[] =>
    key === undefined ? [] : [{ type: 'compare', comparison, mark, key }]
  const exact = comparison === '=' ? [{ type: 'exact', value: exactValue(text) } as const] : []
  switch (type) {
    case 'keyword':
    case 'text':
      return exact
    case 'bool':
      return /^(true|false)$/i.test(text) && comparison === '=' ? [{ type: 'exact', value: text.toLowerCase() }] : []
    case 'int':
    case 'quantity':
      return compare(NUMBER, sortableNumber(text))
    case 'duration':
      return compare(NUMBER, sortableNumber(text) ?? seconds(text))
    case 'version':
      return compare(VERSION, sortableVersion(text))
    case 'ip':
      return compare(IP, sortableIp(text))
    case 'time':
      return timeBounds(comparison, text, nowMs)
    case 'json':
      return [...exact, ...compare(NUMBER, sortableNumber(text)), ...timeBounds(comparison, text, nowMs)]
  }
}

const MIRRORED: Readonly<Record<Comparison, Comparison>> = { '=': '=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function timeBounds(comparison: Comparison, text: string, nowMs: number): readonly Bound[] {
  const time = sortableTime(text) ?? sortableDate(text)
  if (time !== undefined) return [{ type: 'compare', comparison, mark: TIME, key: time }]
  const age = parseAge(text)
  if (age === undefined || age > nowMs) return []
  return [{ type: 'compare', comparison: MIRRORED[comparison], mark: TIME, key: sortableMs(nowMs - age) }]
}

/** `2026-01-02` and `2026-01-02T03:04` are in UTC. */
function sortableDate(text: string): string | undefined {
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return sortableTime(`${text}T00:00:00Z`)
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$/.test(text) ? sortableTime(`${text}:00Z`) : undefined
}

const UNIT_MS: Readonly<Record<string, number>> = {
  y: 365 * 86_400_000, // as kubectl counts
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
}

/** `7d`, `2y114d`, `3h20m`, `90s` in milliseconds, as kubectl prints ages; undefined for anything else. */
export function parseAge(text: string): number | undefined {
  if (!/^(?:[0-9]{1,9}[ywdhms])+$/.test(text)) return undefined
  let ms = 0
  for (const [, count, unit = ''] of text.matchAll(/([0-9]+)([ywdhms])/g)) ms += Number(count) * (UNIT_MS[unit] ?? 0)
  return ms
}

function seconds(text: string): string | undefined {
  const ms = parseAge(text)
  return ms === undefined ? undefined : sortableNumber(String(ms / 1_000))
}

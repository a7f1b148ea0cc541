/** Answers as JSON, or as rows: NDJSON (an object on each line) and CSV (RFC 4180, safe to open in a spreadsheet). */
import { parseAccept } from '../http/accept.ts'
import { StatusError } from '../kube/status-error.ts'

export type RowFormat = 'json' | 'ndjson' | 'csv'

export const CONTENT_TYPES: Readonly<Record<RowFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
}

const SPOKEN: Readonly<Record<string, RowFormat>> = {
  '*/*': 'json',
  'application/*': 'json',
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
}

/** Throws `notAcceptable` where nothing asked for is spoken. */
export function negotiateFormat(accept: string | undefined): RowFormat {
  if (accept === undefined || accept.trim() === '') return 'json'
  for (const { type, subtype } of parseAccept(accept)) {
    const media = `${type}/${subtype}`
    const format = Object.hasOwn(SPOKEN, media) ? SPOKEN[media] : undefined
    if (format !== undefined) return format
  }
  const spoken = 'application/json, application/x-ndjson, text/csv'
  throw new StatusError('notAcceptable', `only the following media types are accepted: ${spoken}`)
}

/** A cell as it stands in JSON. */
export interface JsonCell {
  readonly json: string
}

export type RowCell = string | number | boolean | null | readonly (string | number | boolean)[] | JsonCell

/** The first row of CSV; NDJSON has none. */
export function headRow(format: RowFormat, names: readonly string[]): string {
  return format === 'csv' ? `${names.map(csvText).join(',')}\r\n` : ''
}

export function row(format: RowFormat, names: readonly string[], cells: readonly RowCell[]): string {
  if (format === 'csv') return `${names.map((_, i) => csvCell(cells[i] ?? null)).join(',')}\r\n`
  return `${jsonRow(names, cells)}\n`
}

/** A JSON object with one member for each cell. */
export function jsonRow(names: readonly string[], cells: readonly RowCell[]): string {
  return `{${names.map((name, i) => `${JSON.stringify(name)}:${jsonOf(cells[i] ?? null)}`).join(',')}}`
}

function jsonOf(cell: RowCell): string {
  return isJsonCell(cell) ? cell.json : JSON.stringify(cell)
}

function isJsonCell(cell: RowCell): cell is JsonCell {
  return typeof cell === 'object' && cell !== null && 'json' in cell
}

/** Lists are joined by `; `. */
function csvCell(cell: RowCell): string {
  if (cell === null) return ''
  if (isJsonCell(cell)) return cell.json.startsWith('"') ? csvText(JSON.parse(cell.json) as string) : csvJson(cell.json)
  if (typeof cell === 'object') return csvText(cell.map(String).join('; '))
  return typeof cell === 'string' ? csvText(cell) : String(cell)
}

function csvJson(json: string): string {
  return json === 'null' ? '' : json
}

/**
 * A spreadsheet takes a text that begins with one of these signs for a formula, which may call programs or send data
 * away; an apostrophe in front keeps it a text. Some pass over blanks in front, some take the wide forms of East Asian text.
 * Source: OWASP, CSV injection, and ASVS 1.2.10.
 */
const FORMULA = /^[\s\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n\0]/

export function csvText(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

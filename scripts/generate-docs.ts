/**
 * Writes the parts of docs/ that are data in the sources: docs/flags.md, docs/errors.md, the table of rooms in
 * docs/architecture.md and that of what is allowed in docs/passthrough.md. With --check it writes nothing and fails where a file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { format } from 'prettier'
import type { FlagSpec } from '../src/app/options/flag-spec.ts'
import { commandFlags } from '../src/app/options/config.ts'
import { shownDefault } from '../src/app/options/parse-flags.ts'
import { STATUS_CODES } from '../src/kube/status-error.ts'
import { FIELDS, LABELS } from '../src/search/passthrough/fields.ts'
import { AGGREGATIONS } from '../src/search/passthrough/read-aggregations.ts'
import { QUERIES } from '../src/search/passthrough/read-query.ts'
import { BODY } from '../src/search/passthrough/read-search.ts'

const ROOMS_BEGIN = '<!-- rooms: generated from rooms.json -->'
const ROOMS_END = '<!-- rooms: end -->'
const ALLOWED_BEGIN = '<!-- allowed: generated from src/search/passthrough/ -->'
const ALLOWED_END = '<!-- allowed: end -->'

function flagsPage(): string {
  const sections = Object.entries(commandFlags()).map(
    ([, command]) =>
      `## ${command.usage}\n\n${table(['flag', 'type', 'default', 'what it does here'], command.flags.map(flagRow))}`,
  )
  return `# Flags\n\nGenerated from \`src/app/options/\` by \`npm run generate\`; a flag that nobody knows is an error that names it.\n\n${sections.join('\n')}`
}

function flagRow(flag: FlagSpec): string[] {
  const name = flag.name.length === 1 ? `\`-${flag.name}\`` : `\`--${flag.name}\``
  const fallback = shownDefault(flag)
  return [
    name,
    flag.type,
    fallback === undefined ? '' : `\`${fallback}\``,
    flag.honoured ?? 'accepted with a warning, no effect',
  ]
}

function errorsPage(): string {
  const rows = Object.entries(STATUS_CODES).map(([code, row]) => [
    `\`${code}\``,
    String(row.http),
    row.reason,
    row.meaning,
  ])
  return `# Errors\n\nEvery error is a \`metav1.Status\`; under \`search/\` it also has a top-level \`error\` string equal to its message.\nGenerated from \`src/kube/status-error.ts\` by \`npm run generate\`.\n\n${table(['code', 'HTTP', 'reason', 'when'], rows)}`
}

function architecturePage(current: string): string {
  const rooms = JSON.parse(readFileSync('rooms.json', 'utf8')) as Record<string, string | string[]>
  const rows = Object.entries(rooms)
    .filter((entry): entry is [string, string[]] => Array.isArray(entry[1]))
    .map(([room, imports]) => [
      `\`${room}\``,
      imports.map((name) => (name === '*' ? 'all' : `\`${name}\``)).join(', ') || 'nothing',
    ])
  return between(current, [ROOMS_BEGIN, ROOMS_END], table(['room', 'may import'], rows))
}

function passthroughPage(current: string): string {
  const names = (values: Iterable<string>): string => [...values].map((name) => `\`${name}\``).join(', ')
  const rows = [
    ['of a search', names(BODY)],
    ['queries', names(Object.keys(QUERIES))],
    ['aggregations', names(Object.keys(AGGREGATIONS))],
    ['fields', `${names(FIELDS.keys())}, \`${LABELS}.KEY\``],
  ]
  return between(current, [ALLOWED_BEGIN, ALLOWED_END], table(['what', 'allowed'], rows))
}

function between(current: string, [beginMark, endMark]: readonly [string, string], text: string): string {
  const begin = current.indexOf(beginMark)
  const end = current.indexOf(endMark)
  if (begin === -1 || end === -1) throw new Error(`a page has lost its mark ${beginMark}`)
  return `${current.slice(0, begin)}${beginMark}\n\n${text}\n${current.slice(end)}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n')
}

async function main(check: boolean): Promise<number> {
  const architecture = 'docs/architecture.md'
  const passthrough = 'docs/passthrough.md'
  const pages: Record<string, string> = {
    'docs/flags.md': flagsPage(),
    'docs/errors.md': errorsPage(),
    [architecture]: architecturePage(readFileSync(architecture, 'utf8')),
    [passthrough]: passthroughPage(readFileSync(passthrough, 'utf8')),
  }
  let stale = 0
  for (const [file, text] of Object.entries(pages)) {
    const formatted = await format(text, { parser: 'markdown', printWidth: 120, singleQuote: true, semi: false })
    if (!check) writeFileSync(file, formatted)
    else if (readFileSync(file, 'utf8') !== formatted) {
      process.stderr.write(`${file} is not what "npm run generate" writes\n`)
      stale++
    }
  }
  return stale === 0 ? 0 : 1
}

process.exitCode = await main(process.argv.includes('--check'))

/**
 * Flags as Go's pflag takes them (`--name value`, `--name=value`, `--bool`, `--bool=false`, `-v 4`, `-v=4`, underscores for
 * dashes). Every fault of a command line is found before any is reported.
 */
import { parseArgs } from 'node:util'
import { parseGoDuration } from '../../kube/duration.ts'
import type { FlagSpec, FlagValues } from './flag-spec.ts'
import { nearestName } from './nearest-name.ts'

export interface ParsedFlags {
  readonly values: FlagValues
  /** Names that were given on the command line. */
  readonly given: ReadonlySet<string>
  readonly faults: readonly string[]
  /** `--help` was asked for. */
  readonly help: boolean
}

const HELP: FlagSpec = { name: 'help', short: 'h', group: 'local', type: 'bool', honoured: 'Shows the flags.' }

export function parseFlags(argv: readonly string[], specs: readonly FlagSpec[]): ParsedFlags {
  const texts = new Map<string, string[]>()
  const faults: string[] = []
  let afterUnknown = false
  for (const token of tokensOf(argv, [...specs, HELP])) {
    // What follows an unknown flag may well be its value: one fault is enough.
    if (token.kind === 'positional' && !afterUnknown) faults.push(`unexpected argument ${JSON.stringify(token.value)}`)
    afterUnknown = false
    if (token.kind !== 'option') continue
    const spec = [...specs, HELP].find((candidate) => candidate.name === token.name)
    const text = token.value?.replace(/^=/, '') ?? (spec?.type === 'bool' ? 'true' : undefined)
    afterUnknown = spec === undefined && token.value === undefined
    if (spec === undefined) faults.push(`unknown flag: ${token.rawName}${hintFor(token.name, specs)}`)
    else if (text === undefined) faults.push(`flag needs an argument: ${token.rawName}`)
    else texts.set(spec.name, [...(texts.get(spec.name) ?? []), text])
  }
  const values = new Map<string, string | readonly string[]>()
  for (const spec of specs) {
    const given = texts.get(spec.name) ?? (spec.default === undefined ? [] : [spec.default])
    for (const text of given) faults.push(...faultsOf(spec, text))
    const last = given.at(-1)
    if (last !== undefined) values.set(spec.name, valueOf(spec, given, last))
  }
  const help = texts.has(HELP.name)
  texts.delete(HELP.name)
  return { values, given: new Set(texts.keys()), faults, help }
}

/** Undefined where there is none, or nothing to see of it. */
export function shownDefault(spec: FlagSpec): string | undefined {
  return spec.default === '' ? undefined : spec.default
}

/** One line for each flag, as `--help` and docs/flags.md show them. */
export function helpOf(usage: string, specs: readonly FlagSpec[]): string {
  const lines = specs.map((spec) => {
    const short = spec.short === undefined || spec.short === spec.name ? '' : `-${spec.short}, `
    const flag = spec.name.length === 1 ? `-${spec.name}` : `${short}--${spec.name}`
    const text = shownDefault(spec)
    const fallback = text === undefined ? '' : ` (default ${text})`
    return `  ${flag} ${spec.type}\n        ${spec.honoured ?? 'Accepted, without effect here.'}${fallback}`
  })
  return `${usage}\n\nFlags:\n${lines.join('\n')}\n`
}

function hintFor(typed: string, specs: readonly FlagSpec[]): string {
  const nearest = nearestName(
    typed,
    specs.map(({ name }) => name),
  )
  return nearest === undefined ? '' : `; did you mean --${nearest}?`
}

function tokensOf(argv: readonly string[], specs: readonly FlagSpec[]) {
  const options = Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      {
        type: spec.type === 'bool' ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(spec.short === undefined ? {} : { short: spec.short }),
      },
    ]),
  )
  const args = argv.map((argument) => argument.replace(/^--[^=]+/, (name) => name.replaceAll('_', '-')))
  return parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens
}

function faultsOf(spec: FlagSpec, text: string): string[] {
  const bad = (what: string): string[] => [`invalid argument ${JSON.stringify(text)} for --${spec.name}: ${what}`]
  switch (spec.type) {
    case 'bool':
      return parseBool(text) === undefined ? bad('not a boolean') : []
    case 'int':
      return /^-?[0-9]+$/.test(text) && Number.isSafeInteger(Number(text)) ? [] : bad('not a whole number')
    case 'float':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? [] : bad('not a number')
    case 'duration':
      return parseGoDuration(text) === undefined ? bad('not a duration such as 30s or 1m') : []
    case 'string':
    case 'strings':
    case 'repeated':
      return []
    default:
      return spec.type satisfies never
  }
}

/** Go's strconv.ParseBool; undefined for anything else. */
export function parseBool(text: string): boolean | undefined {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true
  return /^(0|f|F|false|FALSE|False)$/.test(text) ? false : undefined
}

function valueOf({ type }: FlagSpec, given: readonly string[], last: string): string | readonly string[] {
  if (type === 'strings') return given.flatMap(splitList)
  return type === 'repeated' ? given : last
}

function splitList(text: string): string[] {
  return text.split(',').filter((part) => part !== '')
}

/** Reads test/fixtures/tables (its README says what the placeholders mean). */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'
import { parseGoDuration } from '../../src/kube/duration.ts'

export interface FixtureObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly status?: unknown
}

const FOLDER = path.join(import.meta.dirname, '..', 'fixtures', 'tables')
const PLACEHOLDER = /<(ago|micro):([^>]+)>/g

/** The objects of `NAME.yaml` as JSON texts, integers beyond 2^53 exact. */
export function tableFixtureTexts(name: string, nowMs: number): string[] {
  const source = readFileSync(path.join(FOLDER, `${name}.yaml`), 'utf8')
  const dated = source.replace(PLACEHOLDER, (_, precision: string, ago: string) => timestamp(precision, ago, nowMs))
  return parseAllDocuments(dated, { intAsBigInt: true }).map((document) => JSON.stringify(document.toJS(), exact))
}

export function tableFixtures(name: string, nowMs: number): FixtureObject[] {
  return tableFixtureTexts(name, nowMs).map((text) => JSON.parse(text) as FixtureObject)
}

function timestamp(precision: string, ago: string, nowMs: number): string {
  const days = /^([0-9]+)d(.*)$/.exec(ago)
  const ms =
    days === null ? parseGoDuration(ago) : Number(days[1]) * 86_400_000 + (parseGoDuration(days[2] || '0') ?? NaN)
  if (ms === undefined || Number.isNaN(ms)) throw new Error(`no duration: ${ago}`)
  const iso = new Date(nowMs - ms).toISOString()
  return precision === 'micro' ? iso.replace('Z', '000Z') : `${iso.slice(0, 19)}Z`
}

/** ES2026, which the type checker does not know yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

function exact(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

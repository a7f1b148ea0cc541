/** What a running karmada-search was asked, and what it answered: test/fixtures/karmada-search/reference.json. */
import { readFileSync } from 'node:fs'

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any

export interface Transcript {
  readonly id: string
  readonly path: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** Of a watch: how long it was followed. */
  readonly ms?: number
  readonly response: { readonly status: number; readonly headers: Record<string, string>; readonly body: Json }
}

export function readTranscripts(): readonly Transcript[] {
  const url = new URL('../fixtures/karmada-search/reference.json', import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8')) as Transcript[]
}

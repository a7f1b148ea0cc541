/**
 * Which engines have documents of ours, written down where registries are, so that one which lost its last registry while
 * nobody ran, or was not emptied before we ended, is found and emptied by whoever leads next.
 *
 * A note is made when an engine is first written to and goes when it is empty. Who cannot write it now tries again and
 * holds up nothing.
 */
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { EngineKind } from './engine-store.ts'
import type { SecretRef } from './engine-mirror.ts'

/** Where notes are; `NoteStore` of the registries, as far as it is needed. */
export interface Notes {
  notes(): Promise<ReadonlyMap<string, string>>
  note(name: string, text: string): Promise<void>
  forget(name: string): Promise<void>
}

/** An engine as it was last named. Of credentials in its addresses this holds what the registry held. */
export interface NotedEngine {
  readonly kind: EngineKind
  readonly addresses: readonly string[]
  readonly secretRef?: SecretRef | undefined
  /** Since when no registry names it, ms since the epoch; undefined: one did, when this was written. */
  readonly leftMs?: number | undefined
}

export interface EngineLedgerOptions {
  readonly notes: Notes
  readonly clock: Clock
  readonly logger: Logger
  /** An engine that was noted before this term, once for each term. */
  readonly onNoted: (name: string, engine: NotedEngine) => void
}

const FOLDER = 'engines/'
const RETRY_MS = 5_000

export class EngineLedger {
  readonly #options: EngineLedgerOptions
  /** What is to be done to notes; undefined: to be forgotten. */
  readonly #due = new Map<string, string | undefined>()
  /** As they stand, as far as this process wrote them in this term. */
  readonly #written = new Map<string, string | undefined>()
  #wake: (() => void) | undefined

  constructor(options: EngineLedgerOptions) {
    this.#options = options
  }

  put(name: string, { kind, addresses, secretRef, leftMs }: NotedEngine): void {
    this.#later(name, JSON.stringify({ kind, addresses, secretRef, leftMs }))
  }

  remove(name: string): void {
    this.#later(name, undefined)
  }

  /** For one term of leading. Resolves when the signal aborts; what is due then is done in the next. */
  async run(signal: AbortSignal): Promise<void> {
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake, { once: true })
    let read = false
    this.#written.clear() // others may have led meanwhile
    while (!signal.aborted) {
      try {
        if (!read) await this.#read()
        read = true
        await this.#write()
        if (this.#due.size === 0 && !signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve))
      } catch (err) {
        this.#options.logger.warn({ err }, 'the notes of search engines cannot be kept; trying again')
        await sleep(RETRY_MS, this.#options.clock, signal).catch(() => undefined)
      }
      this.#wake = undefined
    }
    signal.removeEventListener('abort', wake)
  }

  #later(name: string, text: string | undefined): void {
    if (this.#written.has(name) && this.#written.get(name) === text) this.#due.delete(name)
    else this.#due.set(name, text)
    this.#wake?.()
  }

  async #read(): Promise<void> {
    for (const [key, text] of await this.#options.notes.notes()) {
      const name = key.slice(FOLDER.length)
      if (!key.startsWith(FOLDER) || this.#due.has(name)) continue
      const engine = parse(text)
      if (engine !== undefined) this.#options.onNoted(name, engine)
    }
  }

  async #write(): Promise<void> {
    for (const [name, text] of [...this.#due]) {
      if (text === undefined) await this.#options.notes.forget(FOLDER + name)
      else await this.#options.notes.note(FOLDER + name, text)
      this.#written.set(name, text)
      if (this.#due.get(name) === text) this.#due.delete(name)
    }
  }
}

/** Undefined for what another version wrote. */
function parse(text: string): NotedEngine | undefined {
  try {
    const noted = JSON.parse(text) as Partial<NotedEngine>
    const { kind, addresses } = noted
    const readable = (kind === 'opensearch' || kind === 'elasticsearch') && Array.isArray(addresses)
    return readable && addresses.length > 0 ? (noted as NotedEngine) : undefined
  } catch {
    return undefined
  }
}

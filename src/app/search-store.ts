/** The store that is searched, and what is kept beside it in the data folder. */
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DeadLetters, type DeadLetter } from '../backendstore/dead-letters.ts'
import type { EngineEndpoint, OpenEngineStore } from '../backendstore/engine-store.ts'
import { BackendStoreError } from '../backendstore/errors.ts'
import { ReopeningStore } from '../backendstore/reopening-store.ts'
import { SqliteStore } from '../backendstore/sqlite/store.ts'
import type { Installation } from './installation.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Runtime } from './runtime.ts'

export interface SearchStoreOptions {
  readonly folder: string
  /** Searched in place of the embedded store. */
  readonly engine: EngineEndpoint | undefined
  readonly installation: Installation
  readonly openEngine: OpenEngineStore
  /** What was in it has to be written again. */
  readonly onLost: (error: BackendStoreError) => void
  /** Is told what the embedded store's columns take. */
  readonly onColumnBytes: (bytes: number) => void
}

/** What passes: a backup holds the file, the engine is not up yet. */
const PASSING: ReadonlySet<string> = new Set(['busy', 'unreachable', 'unavailable', 'overloaded'])

/**
 * Rejects where the folder or the engine cannot be used. What may pass is waited for by whoever uses the store: a process
 * that is started anew serves its cache, whatever its store is doing.
 */
export async function openSearchStore(
  options: SearchStoreOptions,
  { log }: Runtime,
  lifecycle: Lifecycle,
): Promise<ReopeningStore> {
  const { folder, engine, installation, openEngine, onLost, onColumnBytes } = options
  const store = new ReopeningStore(
    engine === undefined
      ? {
          name: 'sqlite',
          capabilities: { atomicBatches: true, shared: false },
          engine: false,
          open: () => SqliteStore.open({ file: path.join(folder, 'search.db'), onColumnBytes }),
          onLost,
        }
      : {
          name: engine.kind,
          capabilities: { atomicBatches: false, shared: true },
          engine: true,
          open: async () => openEngine({ ...engine, installation: await installation() }),
          onLost,
        },
  )
  lifecycle.onStop('search store', () => store.close())
  await store.ready().catch((err: unknown) => {
    if (!(err instanceof BackendStoreError) || !PASSING.has(err.code)) throw err
    log.warn({ err }, 'the search store cannot be opened; trying again')
  })
  return store
}

const LETTERS_FILE = 'dead-letters.json'

/** Refusals come in bursts. */
const SAVE_AFTER_MS = 1_000

/** Kept over restarts, so that a letter's age is known; a file that cannot be read is as good as none. */
export function openDeadLetters(folder: string, { clock, log }: Runtime, lifecycle: Lifecycle): DeadLetters {
  const file = path.join(folder, LETTERS_FILE)
  let cancel: (() => void) | undefined
  let saving: Promise<void> = Promise.resolve()
  const save = (): void => {
    cancel = undefined
    saving = saving
      .then(() => writeFile(`${file}.new`, JSON.stringify(letters.list()), { mode: 0o600 }))
      .then(() => rename(`${file}.new`, file))
      .catch((err: unknown) => {
        log.warn({ err }, 'the list of refused objects cannot be saved')
      })
  }
  const letters = new DeadLetters(
    () => clock.nowMs(),
    () => {
      cancel ??= clock.setTimeout(save, SAVE_AFTER_MS)
    },
  )
  letters.restore(read(file))
  lifecycle.onStop('dead letters', () => {
    if (cancel !== undefined) {
      cancel()
      save()
    }
    return saving
  })
  return letters
}

function read(file: string): readonly DeadLetter[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as readonly DeadLetter[]
  } catch {
    return []
  }
}

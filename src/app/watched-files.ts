/**
 * Files whose content may change while we run: certificates, CA bundles. They are read again every few seconds and compared,
 * since a mounted Secret changes by a switch of symbolic links, which no notification tells of reliably.
 */
import { readFile } from 'node:fs/promises'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'

const POLL_MS = 5_000

interface Watched {
  readonly what: string
  readonly files: readonly string[]
  readonly apply: (contents: readonly string[]) => void
  applied: string
  /** What was refused last, so that it is told once. */
  refused: string
}

export class WatchedFiles {
  readonly #watched: Watched[] = []
  readonly #clock: Clock
  readonly #log: Logger

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /**
   * Reads the files and calls `apply`, now and whenever one of them has changed. Rejects where they cannot be read or
   * `apply` throws; later on such a change is logged, and what was applied last stays in force.
   */
  async add(what: string, files: readonly string[], apply: Watched['apply']): Promise<void> {
    const contents = await readAll(files)
    apply(contents)
    this.#watched.push({ what, files, apply, applied: contents.join('\0'), refused: '' })
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(POLL_MS, this.#clock, signal).catch(() => undefined)
      if (signal.aborted) return
      for (const watched of this.#watched) await this.#look(watched)
    }
  }

  async #look(watched: Watched): Promise<void> {
    const { what, files } = watched
    let content = ''
    try {
      const contents = await readAll(files)
      content = contents.join('\0')
      if (content === watched.applied) return
      watched.apply(contents)
      watched.applied = content
      watched.refused = ''
      this.#log.info({ what, files }, 'took over a changed file')
    } catch (err) {
      const refusal = content === '' ? String(err) : content
      if (refusal === watched.refused) return
      watched.refused = refusal
      this.#log.error({ err, what, files }, 'a changed file cannot be used; going on with what it held before')
    }
  }
}

function readAll(files: readonly string[]): Promise<string[]> {
  return Promise.all(files.map((file) => readFile(file, 'utf8')))
}

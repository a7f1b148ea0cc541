/** The columns of a connection: made, kept up, and given up where they do not fit. In a transaction, all of it. */
import type { DatabaseSync } from 'node:sqlite'
import { MemoryColumns } from './columns.ts'

export class ColumnKeeper {
  readonly #db: DatabaseSync
  #columns: MemoryColumns | undefined
  #isTooLarge = false

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  get bytes(): number {
    return this.#columns?.bytes ?? 0
  }

  /** At the state of the transaction; undefined where they are not yet, or too large. */
  current(): MemoryColumns | undefined {
    return this.#keeping((columns) => columns.refresh()) ? this.#columns : undefined
  }

  /** False where nothing is left to read. */
  readAhead(): boolean {
    return this.#keeping((columns) => columns.slice())
  }

  /** They are made anew. */
  forget(): void {
    this.#columns = undefined
  }

  /** What breaks off in the middle leaves nothing behind. */
  #keeping(step: (columns: MemoryColumns) => boolean): boolean {
    if (this.#isTooLarge) return false
    const columns = (this.#columns ??= new MemoryColumns(this.#db))
    try {
      const result = step(columns)
      this.#isTooLarge = columns.isTooLarge()
      if (!columns.isLost && !this.#isTooLarge) return result
    } catch (error) {
      this.forget()
      throw error
    }
    this.forget()
    return false
  }
}

/** The store of this replica alone, and the writer that mirrors everything that is cached into it. */
import { BulkWriter } from '../backendstore/bulk-writer.ts'
import type { BulkWriterOptions } from '../backendstore/bulk-options.ts'
import type { BackendStoreError } from '../backendstore/errors.ts'
import type { ReopeningStore } from '../backendstore/reopening-store.ts'
import type { Lifecycle } from './lifecycle.ts'
import { openSearchStore, type SearchStoreOptions } from './search-store.ts'
import type { Runtime } from './runtime.ts'

export interface OwnIndex {
  readonly store: ReopeningStore
  readonly writer: BulkWriter
}

/** Rejects where the folder or the engine cannot be used. */
export async function openOwnIndex(
  opening: Omit<SearchStoreOptions, 'onLost'>,
  mirroring: Omit<BulkWriterOptions, 'store'>,
  runtime: Runtime,
  lifecycle: Lifecycle,
): Promise<OwnIndex> {
  const onLost = (error: BackendStoreError): void => {
    runtime.log.error({ err: error }, 'the search store is lost and is made anew')
    writer.compareAll()
  }
  const store = await openSearchStore({ ...opening, onLost }, runtime, lifecycle)
  const writer = new BulkWriter({ ...mirroring, store })
  return { store, writer }
}

/** Where the embedded store and the registries live. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface DataFolder {
  readonly path: string
  /** Removes a temporary folder, keeps a given one. */
  release(): Promise<void>
}

/** `given` is made where it does not exist, readable by its owner alone; undefined: a temporary folder. */
export async function openDataFolder(given: string | undefined): Promise<DataFolder> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true, mode: 0o700 })
    return { path: given, release: () => Promise.resolve() }
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-'))
  return { path: folder, release: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) }
}

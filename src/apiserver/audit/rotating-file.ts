/**
 * A file that starts over when it is full: the full one gets the time into its name (`audit-2026-11-30T08-00-00.000.log`),
 * old ones are removed by number and age, and compressed if asked for. Names and rules are those of a kube-apiserver's log
 * (Go's lumberjack), so that what ships or removes such files goes on doing so.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

export interface RotatingFileOptions {
  readonly file: string
  /** 0: never full. */
  readonly maxBytes: number
  /** Of rotated files; 0: no limit. */
  readonly maxAgeMs: number
  /** Rotated files kept; 0: all. */
  readonly maxBackups: number
  readonly compress: boolean
  readonly nowMs: () => number
  /** Rotated files cannot be compressed or removed; the log itself goes on. */
  readonly onError: (error: unknown) => void
}

const GZIP = '.gz'

export class RotatingFile {
  readonly #options: RotatingFileOptions
  #descriptor: number
  #bytes: number
  /** The last line could not be written in full: the next one must not be joined to it. */
  #torn = false
  #tidying: Promise<void> = Promise.resolve()

  /** Appends to what is there. Throws where the file cannot be opened. */
  constructor(options: RotatingFileOptions) {
    this.#options = options
    mkdirSync(path.dirname(options.file), { recursive: true })
    this.#descriptor = openSync(options.file, 'a', 0o600)
    this.#bytes = fstatSync(this.#descriptor).size
    this.#tidy()
  }

  /** Throws where it cannot be written (a full disk). */
  write(line: string): void {
    const bytes = Buffer.from(this.#torn ? `\n${line}\n` : `${line}\n`)
    const { maxBytes } = this.#options
    if (maxBytes > 0 && this.#bytes > 0 && this.#bytes + bytes.length > maxBytes) this.#rotate()
    this.#torn = true
    for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at)
    this.#torn = false
    this.#bytes += bytes.length
  }

  /** Resolves when nothing is at work on rotated files any more. */
  async close(): Promise<void> {
    closeSync(this.#descriptor)
    await this.#tidying
  }

  #rotate(): void {
    const { file } = this.#options
    renameSync(file, this.#backupName())
    const fresh = openSync(file, 'a', 0o600)
    closeSync(this.#descriptor)
    this.#descriptor = fresh
    this.#bytes = 0
    this.#torn = false
    this.#tidy()
  }

  /** Two rotations in one millisecond get two names. */
  #backupName(): string {
    const { directory, prefix, extension } = partsOf(this.#options.file)
    for (let atMs = this.#options.nowMs(); ; atMs++) {
      const name = path.join(
        directory,
        `${prefix}${new Date(atMs).toISOString().replace(/Z$/, '').replaceAll(':', '-')}${extension}`,
      )
      if (!existsSync(name) && !existsSync(`${name}${GZIP}`)) return name
    }
  }

  #tidy(): void {
    this.#tidying = this.#tidying.then(() => this.#tidyNow()).catch(this.#options.onError)
  }

  async #tidyNow(): Promise<void> {
    const { maxBackups, maxAgeMs, compress, nowMs } = this.#options
    const backups = backupsOf(this.#options.file)
    const oldest = maxAgeMs === 0 ? Number.NEGATIVE_INFINITY : nowMs() - maxAgeMs
    const keep = backups.filter(({ atMs }, at) => (maxBackups === 0 || at < maxBackups) && atMs >= oldest)
    for (const { name } of backups) if (!keep.some((kept) => kept.name === name)) rmSync(name, { force: true })
    if (!compress) return
    for (const { name } of keep) if (!name.endsWith(GZIP)) await gzipFile(name)
  }
}

interface Backup {
  readonly name: string
  readonly atMs: number
}

/** Newest first. */
function backupsOf(file: string): Backup[] {
  const { directory, prefix, extension } = partsOf(file)
  const backups = readdirSync(directory).flatMap((name) => {
    const plain = name.endsWith(GZIP) ? name.slice(0, -GZIP.length) : name
    if (!plain.startsWith(prefix) || !plain.endsWith(extension)) return []
    const stamp = plain.slice(prefix.length, plain.length - extension.length)
    const match = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/.exec(stamp)
    if (match === null) return []
    const [, date, hours, minutes, seconds] = match
    const atMs = Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`)
    return Number.isNaN(atMs) ? [] : [{ name: path.join(directory, name), atMs }]
  })
  return backups.sort((a, b) => b.atMs - a.atMs)
}

function partsOf(file: string): { directory: string; prefix: string; extension: string } {
  const { dir, name, ext } = path.parse(file)
  return { directory: dir === '' ? '.' : dir, prefix: `${name}-`, extension: ext }
}

/** Under another name until it is whole: a torn one must not take the place of what it was made of. */
async function gzipFile(name: string): Promise<void> {
  const partial = `${name}${GZIP}.partial`
  await pipeline(createReadStream(name), createGzip(), createWriteStream(partial, { mode: 0o600 }))
  renameSync(partial, `${name}${GZIP}`)
  rmSync(name, { force: true })
}

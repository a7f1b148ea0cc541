/**
 * Records of bytes in big chunks: no JavaScript object for each record, and memory goes back as records die.
 *
 * - A record has a slot, a small number that stays the same for as long as the record lives, and an address, which
 *   changes when it is rewritten or moved. Addresses count units of 8 bytes within a chunk: 16 bits, the chunk above them,
 *   so that 32 GiB fit into 32 bits.
 * - Chunks are written from front to back and never overwritten (but for the owner word, which only the arena reads). Who
 *   keeps `chunks` and some addresses can go on reading them, whatever happens to the arena.
 * - A full chunk less than three quarters alive is emptied into the newest one and let go.
 */
export interface Chunk {
  readonly bytes: Buffer
  /** The same memory in words of 32 bits. */
  readonly words: Uint32Array
  used: number
  live: number
}

/** Indexed by `address >>> 16`; undefined where a chunk has been let go. */
export type Chunks = readonly (Chunk | undefined)[]

/** Bigger ones waste more at the end of each shard, smaller ones more at the end of each chunk (bench/cache.ts). */
const LARGEST_CHUNK = 1 << 19
/** Chunks double from here on, so that a shard with a handful of objects stays small. */
const FIRST_CHUNK = 1 << 12
const CHUNK_SHIFT = 16
const MOST_CHUNKS = 0xffff
const UNIT_SHIFT = 3
const OFFSET_MASK = (1 << CHUNK_SHIFT) - 1
/** In front of each record: its length and the slot it belongs to, a word each. */
const HEAD = 8
const DEAD = 0xffff_ffff

export function chunkAt(chunks: Chunks, address: number): Chunk {
  const chunk = chunks[address >>> CHUNK_SHIFT]
  if (chunk === undefined) throw new RangeError('no chunk at this address')
  return chunk
}

/** Where the record's first byte stands in its chunk; always a multiple of 8. */
export function offsetAt(address: number): number {
  return ((address & OFFSET_MASK) << UNIT_SHIFT) + HEAD
}

/** The length of the record whose first byte stands at `offset`. */
export function lengthAt(chunk: Chunk, offset: number): number {
  return chunk.words[(offset - HEAD) >>> 2] ?? 0
}

function sizeOf(length: number): number {
  return (HEAD + length + 7) & ~7
}

export class Arena {
  #chunks: (Chunk | undefined)[] = []
  #addresses = new Uint32Array(8)
  #slots = 0
  readonly #freeSlots: number[] = []
  readonly #freeChunks: number[] = []
  /** Index of the chunk that is written now; -1 before the first. */
  #tail = -1
  readonly #sparse: number[] = []
  #settling = false
  #liveBytes = 0
  #capacityBytes = 0

  /** To be kept together with addresses; see above. */
  get chunks(): Chunks {
    return this.#chunks
  }

  /** Slots are below this number. */
  get slotLimit(): number {
    return this.#slots
  }

  /** Bytes of living records, heads included. */
  get liveBytes(): number {
    return this.#liveBytes
  }

  /** Bytes taken from the system. */
  get capacityBytes(): number {
    return this.#capacityBytes + this.#addresses.byteLength
  }

  address(slot: number): number {
    return this.#addresses[slot] ?? 0
  }

  /** A new record of `length` bytes, to be filled before anything else is asked of the arena. Returns its slot. */
  insert(length: number): number {
    const slot = this.#freeSlots.pop() ?? this.#newSlot()
    this.#allocate(slot, length)
    this.#settle()
    return slot
  }

  /** Gives the slot a fresh record; readers that know the old address keep the old bytes. */
  rewrite(slot: number, length: number): void {
    const old = this.address(slot)
    this.#allocate(slot, length)
    this.#release(old)
    this.#settle()
  }

  remove(slot: number): void {
    this.removeAll([slot])
  }

  /** All at once, so that none of them is moved out of the way of another. */
  removeAll(slots: readonly number[]): void {
    for (const slot of slots) {
      this.#release(this.address(slot))
      this.#freeSlots.push(slot)
    }
    this.#settle()
  }

  #newSlot(): number {
    if (this.#slots === this.#addresses.length) this.#addresses = grown(this.#addresses)
    return this.#slots++
  }

  #allocate(slot: number, length: number): void {
    const size = sizeOf(length)
    const chunk = this.#room(size)
    const word = chunk.used >>> 2
    chunk.words[word] = length
    chunk.words[word + 1] = slot
    this.#addresses[slot] = ((this.#tail << CHUNK_SHIFT) | (chunk.used >>> UNIT_SHIFT)) >>> 0
    chunk.used += size
    chunk.live += size
    this.#liveBytes += size
  }

  /** The chunk being written, or a new one where `size` bytes do not fit; a record above half a MiB gets one to itself. */
  #room(size: number): Chunk {
    const tail = this.#chunks[this.#tail]
    if (tail !== undefined && tail.used + size <= tail.bytes.length && tail.used < LARGEST_CHUNK) return tail
    const next = Math.min(LARGEST_CHUNK, Math.max(FIRST_CHUNK, 2 * (tail?.bytes.length ?? 0)))
    const full = this.#tail
    const chunk = this.#newChunk(Math.max(next, size))
    if (tail !== undefined && isSparse(tail)) this.#sparse.push(full)
    return chunk
  }

  #newChunk(length: number): Chunk {
    const bytes = Buffer.allocUnsafeSlow(length)
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, length >>> 2)
    const chunk: Chunk = { bytes, words, used: 0, live: 0 }
    this.#tail = this.#freeChunks.pop() ?? this.#chunks.length
    if (this.#tail > MOST_CHUNKS) throw new RangeError('a shard holds at most 32 GiB')
    this.#chunks[this.#tail] = chunk
    this.#capacityBytes += length
    return chunk
  }

  #release(address: number): void {
    const index = address >>> CHUNK_SHIFT
    const chunk = chunkAt(this.#chunks, address)
    const word = (offsetAt(address) - HEAD) >>> 2
    const size = sizeOf(chunk.words[word] ?? 0)
    chunk.words[word + 1] = DEAD
    chunk.live -= size
    this.#liveBytes -= size
    if (index !== this.#tail && isSparse(chunk)) this.#sparse.push(index)
  }

  /** Empties the sparse chunks. Moving records may fill the tail and make it sparse in turn, hence the loop. */
  #settle(): void {
    if (this.#settling || this.#sparse.length === 0) return
    this.#settling = true
    for (let index = this.#sparse.pop(); index !== undefined; index = this.#sparse.pop()) this.#evacuate(index)
    this.#settling = false
  }

  #evacuate(index: number): void {
    const chunk = this.#chunks[index]
    if (chunk === undefined || index === this.#tail || !isSparse(chunk)) return
    let size = 0
    for (let offset = 0; offset < chunk.used; offset += size) {
      const length = chunk.words[offset >>> 2] ?? 0
      const slot = chunk.words[(offset >>> 2) + 1] ?? DEAD
      size = sizeOf(length)
      if (slot === DEAD) continue
      this.#allocate(slot, length)
      this.#liveBytes -= size
      const to = this.address(slot)
      chunk.bytes.copy(chunkAt(this.#chunks, to).bytes, offsetAt(to), offset + HEAD, offset + HEAD + length)
    }
    this.#capacityBytes -= chunk.bytes.length
    // A copy: whoever keeps the old list still finds the chunk in it.
    this.#chunks = this.#chunks.slice()
    this.#chunks[index] = undefined
    this.#freeChunks.push(index)
  }
}

function isSparse(chunk: Chunk): boolean {
  return chunk.live * 4 < chunk.used * 3
}

/** Twice as long, with the same beginning. */
export function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(2 * array.length)
  longer.set(array)
  return longer
}

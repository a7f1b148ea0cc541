/**
 * As much of protobuf as reading a message without its schema takes, and the envelope of Kubernetes around each:
 * `k8s\0` and a runtime.Unknown {1: typeMeta {1: apiVersion, 2: kind}, 2: raw}.
 * Source: protobuf.dev "Encoding"; apimachinery pkg/runtime/serializer/protobuf.
 */
const MAGIC = Buffer.from('k8s\0', 'latin1')

/** The length-delimited fields of a message (strings, bytes, messages) by number, in order; others are skipped. */
export type ProtobufFields = ReadonlyMap<number, readonly Buffer[]>

export interface KubernetesEnvelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Buffer
}

/** Undefined where the bytes are no such envelope. */
export function readEnvelope(bytes: Buffer): KubernetesEnvelope | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  const unknown = readFields(bytes.subarray(MAGIC.length))
  const type = readFields(unknown?.get(1)?.at(-1) ?? Buffer.alloc(0))
  if (unknown === undefined || type === undefined) return undefined
  const raw = unknown.get(2)?.at(-1) ?? Buffer.alloc(0)
  return { apiVersion: textOf(type, 1), kind: textOf(type, 2), raw }
}

/** Undefined where the bytes are no message. */
export function readFields(bytes: Buffer): ProtobufFields | undefined {
  const fields = new Map<number, Buffer[]>()
  const reader = new Reader(bytes)
  while (!reader.atEnd) {
    const tag = reader.varint()
    if (tag === undefined) return undefined
    const number = tag >>> 3
    const value = reader.value(tag & 7)
    if (value === undefined) return undefined
    if (value === 'skipped') continue
    const values = fields.get(number)
    if (values === undefined) fields.set(number, [value])
    else values.push(value)
  }
  return fields
}

/** All values of one length-delimited field, in order; undefined where the bytes are no message. */
export function readEntries(bytes: Buffer, field: number): readonly Buffer[] | undefined {
  const fields = readFields(bytes)
  return fields === undefined ? undefined : (fields.get(field) ?? [])
}

/** A length-delimited field as it stands in a message. */
export function writeField(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80)
  return Buffer.from([...bytes, value])
}

/** The last string of that number; empty where there is none, as protobuf has it. */
export function textOf(fields: ProtobufFields, number: number): string {
  return fields.get(number)?.at(-1)?.toString('utf8') ?? ''
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Below 2^32; undefined beyond that or at the end. */
  varint(): number | undefined {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) return undefined
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value < 2 ** 32 ? value : undefined
    }
    return undefined
  }

  value(wireType: number): Buffer | 'skipped' | undefined {
    switch (wireType) {
      case 0:
        return this.#skipVarint()
      case 1:
        return this.#skip(8)
      case 2: {
        const length = this.varint()
        return length === undefined ? undefined : this.#take(length)
      }
      case 5:
        return this.#skip(4)
      default:
        return undefined
    }
  }

  #skipVarint(): 'skipped' | undefined {
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) return undefined
      if (byte < 0x80) return 'skipped'
    }
    return undefined
  }

  #skip(count: number): 'skipped' | undefined {
    return this.#take(count) === undefined ? undefined : 'skipped'
  }

  #take(count: number): Buffer | undefined {
    const end = this.#at + count
    if (end > this.#bytes.length) return undefined
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

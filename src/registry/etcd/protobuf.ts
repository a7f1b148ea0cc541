/**
 * The part of the protocol buffers wire format that etcd's messages need: varints, and bytes for strings and messages.
 * Source: protobuf.dev/programming-guides/encoding. Left out: fixed32, fixed64 and groups (skipped or refused in reading).
 */
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** One field as it came: a number (int64, uint64, bool, enum), or bytes (bytes, string, message). */
export type ProtoField =
  { readonly id: number; readonly number: bigint } | { readonly id: number; readonly bytes: Buffer }

/** Writes one message, fields in the order of the calls. Zero and empty values are left out, as proto3 has it. */
export class ProtoWriter {
  readonly #parts: Uint8Array[] = []

  number(id: number, value: bigint | number): this {
    return BigInt(value) === 0n ? this : this.explicitNumber(id, value)
  }

  /** Also a zero: a member of a `oneof` counts by being there. */
  explicitNumber(id: number, value: bigint | number): this {
    this.#parts.push(varint(tag(id, VARINT)), varint(BigInt.asUintN(64, BigInt(value))))
    return this
  }

  bool(id: number, value: boolean): this {
    return this.number(id, value ? 1 : 0)
  }

  bytes(id: number, value: Uint8Array | string): this {
    return value.length === 0 ? this : this.message(id, typeof value === 'string' ? Buffer.from(value) : value)
  }

  /** Also an empty one. */
  message(id: number, value: Uint8Array): this {
    this.#parts.push(varint(tag(id, BYTES)), varint(BigInt(value.length)), value)
    return this
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function tag(id: number, wireType: number): bigint {
  return BigInt(id * 8 + wireType)
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}

export class MalformedMessageError extends Error {
  constructor(why: string) {
    super(`malformed protocol buffers message: ${why}`)
    this.name = 'MalformedMessageError'
  }
}

/** The fields of a message in the order of its bytes; bytes are views, not copies. Throws `MalformedMessageError`. */
export function* readFields(message: Buffer): Generator<ProtoField> {
  let at = 0
  const readVarint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++]
      if (byte === undefined) throw new MalformedMessageError('it ends inside a number')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new MalformedMessageError('a number is longer than 64 bits')
  }
  const skip = (length: number): Buffer => {
    if (length > message.length - at) throw new MalformedMessageError('it ends inside a field')
    at += length
    return message.subarray(at - length, at)
  }
  while (at < message.length) {
    const key = readVarint()
    const id = Number(key >> 3n)
    switch (Number(key & 7n)) {
      case VARINT:
        yield { id, number: readVarint() }
        break
      case BYTES:
        yield { id, bytes: skip(Number(readVarint())) }
        break
      case FIXED64:
        skip(8)
        break
      case FIXED32:
        skip(4)
        break
      default:
        throw new MalformedMessageError(`wire type ${Number(key & 7n)}`)
    }
  }
}

/** Reads a message into the setters of the fields that are known; the others are passed over. */
export function readMessage(
  message: Buffer,
  setters: {
    readonly numbers?: Readonly<Record<number, (value: bigint) => void>>
    readonly bytes?: Readonly<Record<number, (value: Buffer) => void>>
  },
): void {
  for (const field of readFields(message)) {
    if ('number' in field) setters.numbers?.[field.id]?.(field.number)
    else setters.bytes?.[field.id]?.(field.bytes)
  }
}

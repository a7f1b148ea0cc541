/**
 * Changes fields of protobuf messages without their schemas; every other byte stays, unknown fields and their order too.
 * Source: protobuf.dev "Encoding". Groups (wire types 3 and 4), which Kubernetes does not use, are no messages here.
 */

/** What becomes of a length-delimited field: the same buffer to keep it, another one, or undefined to take it out. */
export type FieldRewrite = (number: number, value: Buffer) => Buffer | undefined

interface Field {
  readonly number: number
  readonly wireType: number
  readonly start: number
  /** Of a length-delimited field. */
  readonly value: Buffer | undefined
  readonly end: number
}

/** The same buffer where nothing changed; undefined where the bytes are no message. */
export function rewriteFields(
  bytes: Buffer,
  rewrite: FieldRewrite,
  appended: readonly Buffer[] = [],
): Buffer | undefined {
  const pieces: Buffer[] = []
  let changed = appended.length > 0
  for (let at = 0; at < bytes.length;) {
    const field = fieldAt(bytes, at)
    if (field === undefined) return undefined
    at = field.end
    const { value } = field
    const written = value === undefined ? undefined : rewrite(field.number, value)
    if (value === written) {
      pieces.push(bytes.subarray(field.start, field.end))
      continue
    }
    changed = true
    if (written !== undefined) pieces.push(lengthDelimited(field.number, written))
  }
  return changed ? Buffer.concat([...pieces, ...appended]) : bytes
}

export function lengthDelimited(number: number, value: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value])
}

function fieldAt(bytes: Buffer, start: number): Field | undefined {
  const tag = readVarint(bytes, start)
  if (tag === undefined) return undefined
  const number = Math.floor(tag.value / 8)
  const wireType = tag.value % 8
  if (number === 0) return undefined
  const body = bodyOf(bytes, tag.end, wireType)
  return body === undefined || body.end > bytes.length ? undefined : { number, wireType, start, ...body }
}

function bodyOf(bytes: Buffer, at: number, wireType: number): { value: Buffer | undefined; end: number } | undefined {
  switch (wireType) {
    case 0: {
      const end = behindVarint(bytes, at)
      return end === undefined ? undefined : { value: undefined, end }
    }
    case 1:
      return { value: undefined, end: at + 8 }
    case 2: {
      const length = readVarint(bytes, at)
      if (length === undefined) return undefined
      const end = length.end + length.value
      return { value: bytes.subarray(length.end, end), end }
    }
    case 5:
      return { value: undefined, end: at + 4 }
    default:
      return undefined
  }
}

function readVarint(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0
  for (let i = 0; i < 5; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return undefined
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return value < 2 ** 32 ? { value, end: at + i + 1 } : undefined
  }
  return undefined
}

function behindVarint(bytes: Buffer, at: number): number | undefined {
  for (let i = at; i < at + 10; i++) {
    const byte = bytes[i]
    if (byte === undefined) return undefined
    if (byte < 0x80) return i + 1
  }
  return undefined
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

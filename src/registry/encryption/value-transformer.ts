/**
 * How values stand in storage, encrypted or plain, with the prefixes of a kube-apiserver, so that either reads what the other
 * wrote. Source: apiserver pkg/storage/value/transformer.go (`prefixTransformers`), encrypt/identity.
 */
export interface ValueTransformer {
  /** `key`: where the bytes will stand; some providers bind them to it. */
  toStorage(text: string, key: string): Buffer
  /** Throws `ValueTransformerError` for what no provider can read. */
  fromStorage(stored: Buffer, key: string): OpenedValue
}

export interface OpenedValue {
  readonly text: string
  /** Not as it would be written today: by another key or provider. */
  readonly isStale: boolean
}

/** One key of one provider. */
export interface Cipher {
  /** What every value of it begins with; empty: it does not encrypt. */
  readonly prefix: string
  seal(plain: Buffer, key: string): Buffer
  /** Throws where this is not its own. */
  open(sealed: Buffer, key: string): Buffer
}

/** Its message names neither keys nor what is in the value. */
export class ValueTransformerError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ValueTransformerError'
  }
}

const RESERVED = Buffer.from('k8s:enc:')

/** No encryption; refuses values that are encrypted. */
export const IDENTITY: Cipher = {
  prefix: '',
  seal: (plain) => plain,
  open(stored) {
    if (stored.subarray(0, RESERVED.length).equals(RESERVED)) {
      throw new ValueTransformerError('it is encrypted, and no provider in force reads it')
    }
    return stored
  },
}

/** Writes by the first, reads by whichever can. */
export function valueTransformer(ciphers: readonly [Cipher, ...Cipher[]]): ValueTransformer {
  const [first] = ciphers
  return {
    toStorage: (text, key) => Buffer.concat([Buffer.from(first.prefix), first.seal(Buffer.from(text), key)]),
    fromStorage(stored, key) {
      let refusal: unknown
      for (const cipher of ciphers) {
        const prefix = Buffer.from(cipher.prefix)
        if (!stored.subarray(0, prefix.length).equals(prefix)) continue
        try {
          const plain = cipher.open(stored.subarray(prefix.length), key)
          return { text: plain.toString(), isStale: cipher !== first }
        } catch (error) {
          // A key that is being rotated away from has the same prefix.
          refusal = cipher.prefix === '' ? (refusal ?? error) : error
        }
      }
      if (refusal instanceof ValueTransformerError) throw refusal
      throw new ValueTransformerError('no encryption provider in force can read it', { cause: refusal })
    },
  }
}

export const PLAIN: ValueTransformer = valueTransformer([IDENTITY])

/** JSON as YAML, for people who ask for it. Slow (a few MB/s), so never the default. */
import { stringify } from 'yaml'

/**
 * `version: '1.1'` quotes what readers of the older language (Go's, kubectl's) would take for a boolean or an octal;
 * keys are sorted as sigs.k8s.io/yaml does.
 */
const OPTIONS = { version: '1.1', sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false } as const

/** One document, with a line break at its end. Integers beyond 2^53 keep all their digits. */
export function jsonToYaml(bytes: Uint8Array): string {
  return stringify(parseLossless(bytes), OPTIONS)
}

/** One entry of a block sequence: `- apiVersion: …`. */
export function jsonToYamlItem(bytes: Uint8Array): string {
  return stringify([parseLossless(bytes)], OPTIONS)
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown

function parseLossless(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const keepDigits: Reviver = (_key, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
    return source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value
  }
  return (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, keepDigits)
}

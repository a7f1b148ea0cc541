/**
 * A kube-apiserver's `EncryptionConfiguration` (apiserver.config.k8s.io/v1), as far as it is about ResourceRegistries.
 * Source: apiserver pkg/server/options/encryptionconfig/config.go, pkg/apis/apiserver/validation/validation_encryption.go.
 * Left out: kms, which is refused; checks of rules that concern other resources alone.
 */
import { parseDocument } from 'yaml'
import { aesCbc, aesGcm, secretbox } from './ciphers.ts'
import { IDENTITY, PLAIN, valueTransformer, type Cipher, type ValueTransformer } from './value-transformer.ts'

const RULES = ['resourceregistries.search.karmada.io', '*.search.karmada.io', '*.*'] // the most specific one counts
const AES_BYTES = [16, 24, 32]
const SECRETBOX_BYTES = [32]

const PROVIDERS: Readonly<
  Record<string, { readonly bytes: readonly number[]; cipher(name: string, secret: Buffer): Cipher }>
> = {
  aescbc: { bytes: AES_BYTES, cipher: aesCbc },
  aesgcm: { bytes: AES_BYTES, cipher: aesGcm },
  secretbox: { bytes: SECRETBOX_BYTES, cipher: secretbox },
}

/**
 * How registries are to be stored; plain where no rule names them. Throws an `Error` whose message has every fault with its
 * path, and no secret.
 */
export function parseEncryptionConfiguration(text: string): ValueTransformer {
  const faults: string[] = []
  const document = parseDocument(text)
  // The parser's own words may quote the line, which may hold a key.
  if (document.errors.length > 0) throw new Error('it is not YAML')
  const root = document.toJS() as Json
  const { apiVersion, kind, resources } = isRecord(root) ? root : {}
  if (apiVersion !== 'apiserver.config.k8s.io/v1' || kind !== 'EncryptionConfiguration') {
    faults.push('it is no EncryptionConfiguration of apiserver.config.k8s.io/v1')
  }
  const rules = new Map<string, Cipher[]>()
  if (!Array.isArray(resources) || resources.length === 0) faults.push('resources: at least one is needed')
  else resources.forEach((rule, i) => readRule(rule, `resources[${i}]`, rules, faults))
  if (faults.length > 0) throw new Error(faults.join('; '))
  const [first, ...others] = RULES.map((rule) => rules.get(rule)).find((ciphers) => ciphers !== undefined) ?? []
  return first === undefined ? PLAIN : valueTransformer([first, ...others])
}

type Json = unknown

function readRule(rule: Json, path: string, rules: Map<string, Cipher[]>, faults: string[]): void {
  const { resources, providers } = isRecord(rule) ? rule : {}
  const names = Array.isArray(resources) ? resources.filter((name) => typeof name === 'string') : []
  if (names.length === 0) faults.push(`${path}.resources: at least one is needed`)
  if (!Array.isArray(providers) || providers.length === 0) {
    faults.push(`${path}.providers: at least one is needed`)
    return
  }
  const ciphers = providers.flatMap((provider, i) => readProvider(provider, `${path}.providers[${i}]`, faults))
  for (const name of names) {
    const wider = RULES.slice(RULES.indexOf(name) + 1).find((rule) => RULES.includes(name) && rules.has(rule))
    if (wider !== undefined) faults.push(`${path}.resources: ${name} is masked by the earlier rule ${wider}`)
    rules.set(name, [...(rules.get(name) ?? []), ...ciphers])
  }
}

function readProvider(provider: Json, path: string, faults: string[]): Cipher[] {
  const [name, ...others] = isRecord(provider) ? Object.keys(provider) : []
  if (name === undefined || others.length > 0) {
    faults.push(`${path}: expected one of ${[...Object.keys(PROVIDERS), 'identity'].join(', ')}`)
    return []
  }
  if (name === 'identity') return [IDENTITY]
  const known = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined
  if (known === undefined) {
    faults.push(`${path}.${name}: ${name === 'kms' ? 'not supported' : 'there is no such provider'}`)
    return []
  }
  const settings = (provider as Readonly<Record<string, Json>>)[name]
  const { keys } = isRecord(settings) ? settings : {}
  if (!Array.isArray(keys) || keys.length === 0) {
    faults.push(`${path}.${name}.keys: at least one is needed`)
    return []
  }
  return keys.flatMap((key, i) => {
    const read = readKey(key, known.bytes, `${path}.${name}.keys[${i}]`, faults)
    return read === undefined ? [] : [known.cipher(read.name, read.secret)]
  })
}

function readKey(
  key: Json,
  sizes: readonly number[],
  path: string,
  faults: string[],
): { readonly name: string; readonly secret: Buffer } | undefined {
  const { name, secret } = isRecord(key) ? key : {}
  const isNamed = typeof name === 'string' && name !== ''
  if (!isNamed) faults.push(`${path}.name: needed`)
  const isBase64 = typeof secret === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(secret) && secret.length % 4 === 0
  const bytes = isBase64 ? Buffer.from(secret, 'base64') : Buffer.alloc(0)
  const isKey = sizes.includes(bytes.length)
  if (!isKey) faults.push(`${path}.secret: expected ${sizes.join(', ')} bytes in base64`)
  return isNamed && isKey ? { name, secret: bytes } : undefined
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The providers of a kube-apiserver that hold their keys in its configuration. Source: apiserver pkg/storage/value/encrypt. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'
import { ValueTransformerError, type Cipher } from './value-transformer.ts'

const AES_BLOCK = 16
const GCM_NONCE = 12
const GCM_TAG = 16
const SECRETBOX_NONCE = 24
const SECRETBOX_TAG = 16

/** AES-CBC with PKCS#7 padding: IV, then blocks. Hides the value, and does not show whether somebody changed it. */
export function aesCbc(name: string, secret: Buffer): Cipher {
  const algorithm = `aes-${secret.length * 8}-cbc`
  return {
    prefix: `k8s:enc:aescbc:v1:${name}:`,
    seal(plain) {
      const iv = randomBytes(AES_BLOCK)
      const cipher = createCipheriv(algorithm, secret, iv)
      return Buffer.concat([iv, cipher.update(plain), cipher.final()])
    },
    open(sealed) {
      requireLength(sealed, 2 * AES_BLOCK)
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, AES_BLOCK))
      return Buffer.concat([decipher.update(sealed.subarray(AES_BLOCK)), decipher.final()])
    },
  }
}

/** AES-GCM bound to the storage key: nonce, ciphertext, tag. At most 2^32 writes with one secret (NIST SP 800-38D). */
export function aesGcm(name: string, secret: Buffer): Cipher {
  const algorithm = `aes-${secret.length * 8}-gcm` as 'aes-256-gcm'
  return {
    prefix: `k8s:enc:aesgcm:v1:${name}:`,
    seal(plain, key) {
      const nonce = randomBytes(GCM_NONCE)
      const cipher = createCipheriv(algorithm, secret, nonce).setAAD(Buffer.from(key))
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, key) {
      requireLength(sealed, GCM_NONCE + GCM_TAG)
      const end = sealed.length - GCM_TAG
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, GCM_NONCE), { authTagLength: GCM_TAG })
      decipher.setAAD(Buffer.from(key)).setAuthTag(sealed.subarray(end))
      return Buffer.concat([decipher.update(sealed.subarray(GCM_NONCE, end)), decipher.final()])
    },
  }
}

/** XSalsa20 and Poly1305: nonce, tag, ciphertext. */
export function secretbox(name: string, secret: Buffer): Cipher {
  return {
    prefix: `k8s:enc:secretbox:v1:${name}:`,
    seal(plain) {
      const nonce = randomBytes(SECRETBOX_NONCE)
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(plain)])
    },
    open(sealed) {
      requireLength(sealed, SECRETBOX_NONCE + SECRETBOX_TAG)
      const nonce = sealed.subarray(0, SECRETBOX_NONCE)
      return Buffer.from(xsalsa20poly1305(secret, nonce).decrypt(sealed.subarray(SECRETBOX_NONCE)))
    },
  }
}

function requireLength(sealed: Buffer, least: number): void {
  if (sealed.length < least) throw new ValueTransformerError('it is encrypted and too short')
}

/** Whose indices ours are in a search engine that several installations may share. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { BackendStoreError } from '../backendstore/errors.ts'
import type { MemberClient } from '../fleet/member.ts'

/** Resolves to the same name for as long as the installation lives, in each of its replicas. Rejects with `BackendStoreError`. */
export type Installation = () => Promise<string>

/** Of 128 bits, 48 are enough to tell the installations apart that share an engine. */
const CHARS = 12

/** Every cluster has it, for as long as it is itself; what OpenTelemetry calls `k8s.cluster.uid`. */
const NAMESPACE = '/api/v1/namespaces/kube-system'

const MAX_ANSWER_BYTES = 1024 * 1024
const TIMEOUT_MS = 10_000

/** All replicas of a control plane are one installation. Asked until it was answered once. */
export function controlPlaneInstallation(client: MemberClient): Installation {
  let known: string | undefined
  return async () => (known ??= (await namespaceUid(client)).replaceAll('-', '').slice(0, CHARS))
}

async function namespaceUid(client: MemberClient): Promise<string> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const answer = await client.request({
      ...{ method: 'GET', path: NAMESPACE, headers: { accept: 'application/json' }, headersTimeoutMs: TIMEOUT_MS },
      signal,
    })
    const body = await answer.bytes(MAX_ANSWER_BYTES)
    const uid = answer.status === 200 ? uidOf(body) : undefined
    if (uid !== undefined) return uid
    throw unknown(answer.status === 403 ? 'forbidden' : 'unavailable', `HTTP ${answer.status}`)
  } catch (error) {
    throw error instanceof BackendStoreError ? error : unknown('unreachable', (error as Error).message, error)
  }
}

function unknown(code: 'forbidden' | 'unavailable' | 'unreachable', why: string, cause?: unknown): BackendStoreError {
  const message = `the namespace kube-system of the control plane, which names this installation (or --installation-id), cannot be read: ${why}`
  return new BackendStoreError(code, message, cause)
}

function uidOf(body: Buffer): string | undefined {
  const { metadata } = JSON.parse(body.toString('utf8')) as { metadata?: { uid?: unknown } }
  return typeof metadata?.uid === 'string' && /^[0-9a-f-]{36}$/.test(metadata.uid) ? metadata.uid : undefined
}

const FILE = 'installation-id'

/** Of one user's process: kept in its data folder. */
export function folderInstallation(folder: string): Installation {
  const file = path.join(folder, FILE)
  let known: Promise<string> | undefined
  return () => (known ??= readOrMake(file))
}

async function readOrMake(file: string): Promise<string> {
  const own = randomBytes(CHARS / 2).toString('hex')
  try {
    await writeFile(file, `${own}\n`, { flag: 'wx', mode: 0o600 })
    return own
  } catch {
    return (await readFile(file, 'utf8')).trim()
  }
}

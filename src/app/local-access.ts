/**
 * Who may do what at a server on loopback (`demo`, `up`): everybody there reads, and who shows the token of this start changes.
 * A page in a browser cannot show it, whatever it makes the browser send.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'
import type { Authenticator } from '../apiserver/authn/authenticator.ts'
import type { Authorizer } from '../apiserver/authz/authorizer.ts'
import { readOnly } from '../apiserver/authz/read-only.ts'
import type { UserInfo } from '../http/api-request.ts'
import { StatusError } from '../kube/status-error.ts'
import type { WriteGuard } from '../proxy/write-guard.ts'

export interface LocalAccess {
  /**
   * Takes a token out of the path and puts it where others have it: kubectl sends none over plain HTTP. Before the path is
   * written down anywhere.
   */
  readonly prepare: (request: IncomingMessage) => void
  readonly authenticate: Authenticator
  readonly authorize: Authorizer
  readonly guard: WriteGuard
  readonly mayWrite: (user: UserInfo) => boolean
  /** Writes the kubeconfig with the token, for its owner alone; what to tell the user. Undefined: nothing is written here. */
  announce(url: string): Promise<string | undefined>
  /** Removes it: the token is good for nothing any more. */
  close(): Promise<void>
}

const READER: UserInfo = { name: 'local', uid: '', groups: ['system:masters', 'system:authenticated'], extra: {} }
const WRITER: UserInfo = { ...READER, name: 'local-writer' }

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

/** `file`: where the kubeconfig goes. */
export function openLocalAccess(allowWrites: boolean, file: string): LocalAccess {
  return allowWrites ? writable(file) : READ_ONLY
}

const READ_ONLY: LocalAccess = {
  prepare: () => undefined,
  authenticate: () => READER,
  authorize: readOnly,
  guard: { refusal: () => 'this server is read-only: `fleetsearch up --allow-writes` takes changes' },
  mayWrite: () => false,
  announce: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
}

function writable(file: string): LocalAccess {
  const token = randomBytes(32).toString('base64url')
  const expected = hash(`Bearer ${token}`)
  const mayWrite = (user: UserInfo): boolean => user === WRITER
  return {
    prepare(request) {
      const [all, given, rest] = /^\/token\/([A-Za-z0-9_-]+)(\/.*)$/s.exec(request.url ?? '') ?? []
      if (all === undefined || rest === undefined) return
      request.url = rest
      request.headers.authorization = `Bearer ${given ?? ''}`
    },
    authenticate({ headers: { authorization } }) {
      if (authorization === undefined) return READER
      if (timingSafeEqual(hash(authorization), expected)) return WRITER
      throw new StatusError('unauthorized', `the token is not that of this start, which is in ${file}`)
    },
    authorize: (user, attributes, signal) =>
      mayWrite(user) ? Promise.resolve({ allowed: true, reason: '' }) : readOnly(user, attributes, signal),
    guard: {
      refusal: (user) =>
        mayWrite(user)
          ? undefined
          : `this changes something, or may, and needs the token of this server: kubectl --kubeconfig ${file}`,
    },
    mayWrite,
    async announce(url) {
      const partial = `${file}.partial`
      await rm(partial, { force: true })
      await writeFile(partial, kubeconfig(url, token), { mode: 0o600, flag: 'wx' })
      await rename(partial, file)
      return `Changes are taken from who has the token of this start:\n  kubectl --kubeconfig ${path.resolve(file)} get pods -A\n`
    },
    close: () => rm(file, { force: true }),
  }
}

/** JSON is YAML. */
function kubeconfig(url: string, token: string): string {
  const server = `${url}/token/${token}/apis/${SEARCH_GROUP_VERSION}/proxying/karmada/proxy`
  const name = 'fleetsearch'
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server } }],
    contexts: [{ name, context: { cluster: name, user: '' } }],
  })
}

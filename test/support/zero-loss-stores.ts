/** Stores under `zeroLoss`, each with the ways in which it fails. */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { startHttpFaultProxy, type HttpFault } from './http-fault-proxy.ts'
import { startSearchEngine, type SearchEngineName } from './real-parts/search-engine.ts'
import type { StoreUnderTest } from './zero-loss.ts'

/** Another process holds the file, longer than the store waits for it. */
export function sqliteUnderTest(dataFolder: string): StoreUnderTest & { close(): void } {
  const file = path.join(dataFolder, 'search.db')
  let holder: DatabaseSync | undefined
  const release = (): void => {
    holder?.close()
    holder = undefined
  }
  return {
    flags: [],
    faults: [
      {
        name: 'locked by somebody else',
        begin() {
          release()
          holder = new DatabaseSync(file, { timeout: 2_000 })
          holder.exec('BEGIN IMMEDIATE')
        },
      },
    ],
    behave: release,
    async documents() {
      const db = new DatabaseSync(file, { readOnly: true, timeout: 2_000 })
      try {
        const rows = db
          .prepare(
            `SELECT cluster || '/' || namespace || '/' || name || ' ' || uid || '@' || doc.version AS text
             FROM doc JOIN resource ON resource.id = doc.resource WHERE resource.resource = 'configmaps'`,
          )
          .all()
        return rows.map((row) => (row as { text: string }).text)
      } finally {
        db.close()
      }
    },
    close: release,
  }
}

const FAULTS: readonly HttpFault[] = ['overloaded', 'dropReplies', 'readOnly', 'down', 'unavailable']

/** A real engine behind a proxy; besides, it is killed and started again. */
export async function engineUnderTest(
  name: SearchEngineName,
  options: { readonly restarts: boolean },
): Promise<StoreUnderTest & { close(): Promise<void> }> {
  const engine = await startSearchEngine(name)
  const proxy = await startHttpFaultProxy(engine.url)
  const kind = name.startsWith('opensearch') ? 'opensearch' : 'elasticsearch'
  const restart = async (): Promise<void> => {
    await engine.kill()
    await engine.start()
  }
  return {
    flags: [`--${kind}-url=${proxy.url}`],
    faults: [
      ...FAULTS.map((fault) => ({
        name: fault,
        begin: () => {
          proxy.fault = fault
        },
      })),
      ...(options.restarts ? [{ name: 'killed and started again', begin: restart }] : []),
    ],
    behave() {
      proxy.fault = undefined
    },
    async documents() {
      await engine.client.request('/kubernetes-configmap/_refresh', { method: 'POST' })
      const answer = await engine.client.request('/kubernetes-configmap/_search', {
        method: 'POST',
        body: {
          size: 20_000,
          _source: false,
          docvalue_fields: ['fleetsearch.tie', 'fleetsearch.resourceVersion'],
        },
      })
      const { hits } = answer.json() as { hits?: { hits: readonly Hit[] } }
      return (hits?.hits ?? []).map(({ fields }) => textOf(fields))
    },
    async close() {
      await proxy.close()
      await engine.stop()
    },
  }
}

interface Hit {
  readonly fields: Readonly<Record<'fleetsearch.tie' | 'fleetsearch.resourceVersion', readonly string[]>>
}

/** The tie is cluster, namespace, name, uid and resource, separated by a character that none of them has. */
function textOf(fields: Hit['fields']): string {
  const [tie = ''] = fields['fleetsearch.tie']
  const [version = ''] = fields['fleetsearch.resourceVersion']
  const [cluster, namespace, name, uid] = tie.split(/[\u0000-\u001f]/)
  return `${cluster ?? ''}/${namespace ?? ''}/${name ?? ''} ${uid ?? ''}@${version}`
}

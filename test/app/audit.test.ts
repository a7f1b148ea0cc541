import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { parseAuditPolicy } from '../../src/apiserver/audit/policy.ts'
import { openAudit } from '../../src/app/audit.ts'
import { controlPlaneClient, NO_LIMITS } from '../../src/app/control-plane.ts'
import { Lifecycle } from '../../src/app/lifecycle.ts'
import { readBytes } from '../../src/http/request-body.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetricsRegistry } from '../../src/telemetry/metrics.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'

interface Posted {
  readonly url: string | undefined
  readonly authorization: string | undefined
  readonly body: { readonly items: readonly { readonly auditID: string; readonly stage: string }[] }
}

test('what waits for the audit webhook is sent when the process ends, by the kubeconfig’s URL and credentials', async () => {
  const posted: Posted[] = []
  const server = createServer((request, response) => {
    void readBytes(request, 1e6).then((bytes) => {
      const body = JSON.parse(bytes.toString()) as Posted['body']
      posted.push({ url: request.url, authorization: request.headers.authorization, body })
      response.end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-audit-'))
  const kubeconfig = path.join(folder, 'webhook.yaml')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
  writeFileSync(
    kubeconfig,
    `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "${url}"}}],
      users: [{name: a, user: {token: t0ken}}], contexts: [{name: a, context: {cluster: a, user: a}}]}`,
  )
  const log = createLogger('silent')
  const lifecycle = new Lifecycle(log, systemClock)
  const batch = { bufferSize: 100, maxSize: 400, maxWaitMs: 30_000, throttle: { qps: 10, burst: 15 } }
  const webhook = { kubeconfig, batch, initialBackoffMs: 10, maxEventBytes: undefined, maxBatchBytes: undefined }
  const policy = parseAuditPolicy('{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}')
  const metrics = createMetricsRegistry()
  const auditor = await openAudit(
    { policy, log: undefined, webhook: { ...webhook, mode: 'batch' } },
    {
      runtime: { log, clock: systemClock, random: systemRandom, print: () => undefined },
      metrics,
      lifecycle,
      connect: async (file) => {
        const client = await controlPlaneClient(NO_LIMITS, file, {}, systemClock)
        lifecycle.onStop('client', () => client.close())
        return client
      },
    },
  )
  const request = { headers: {}, url: '/x', socket: {} } as unknown as IncomingMessage
  const response = {
    setHeader: () => undefined,
    getHeader: () => undefined,
    headersSent: true,
    statusCode: 200,
  } as unknown as ServerResponse
  const user = { name: 'bob', uid: '', groups: [], extra: {} }
  const attributes = { isResource: false, verb: 'get', path: '/x' } as const
  const audit = await auditor.begin({ request, response, method: 'GET', path: '/x', attributes, user, lasts: false })
  audit?.ended()
  assert.equal(posted.length, 0)
  await lifecycle.stop(5_000)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
  assert.deepEqual(
    posted.map(({ body, ...rest }) => ({ ...rest, stages: body.items.map(({ stage }) => stage) })),
    [{ url: '/events', authorization: 'Bearer t0ken', stages: ['RequestReceived', 'ResponseComplete'] }],
  )
  assert.match(await metrics.metrics(), /apiserver_audit_event_total 2/)
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { TracingConfig } from '../../src/app/options/tracing-config.ts'
import { freePorts } from '../support/free-port.ts'
import { startFakeMember, type FakeMember } from '../support/fake-member.ts'
import { podManifest } from '../support/manifests.ts'
import { startTraceCollector } from '../support/trace-collector.ts'
import { eventually, startWholeService, type WholeService } from '../support/whole-service.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const LIVE = `${BASE}/proxying/karmada/proxy/api/v1/namespaces/default/pods`
const CALLER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' }

/** Spans that wait where the collector is dead: soon full. */
const QUEUE = 60

interface Traced {
  readonly service: WholeService
  readonly member: FakeMember
}

async function withService(
  endpoint: string,
  work: (traced: Traced) => Promise<void>,
  more: Partial<TracingConfig> = {},
): Promise<void> {
  const member = await startFakeMember({ objects: [podManifest('web-0') as Parameters<FakeMember['put']>[0]] })
  const sampling = { ratio: 0, parentBased: true }
  const tracing = { endpoint, sampling, resource: { 'service.name': 'fleetsearch-test' }, ...more }
  const service = await startWholeService({ tracing })
  try {
    service.join('m1', member.url)
    await service.register('pods', 'v1/Pod')
    await eventually(
      async () => (await service.request(`${BASE}/search/cache/api/v1/pods`)).text.includes('web-0'),
      'pods',
    )
    await work({ service, member })
  } finally {
    await service.stop()
    await member.close()
  }
}

const traceparent = (flags: string) => ({
  traceparent: `00-${CALLER.trace}-${CALLER.span}-${flags}`,
  tracestate: 'a=b',
})

describe('traces', () => {
  it('follow the caller’s trace to the members, and show neither queries nor tokens', async () => {
    const collector = await startTraceCollector()
    let asked: string[] = []
    await withService(collector.url, async ({ service, member }) => {
      const headers = { ...traceparent('01'), authorization: 'Bearer s3cret', 'user-agent': 'kubectl/v1' }
      const query = '?resourceVersionMatch=Exact&resourceVersion=1&labelSelector=hidden%3Dyes'
      await service.request(`${LIVE}/web-0?consistency=strong&x=hidden`, { headers })
      await service.request(LIVE + query, { headers })
      await service.request(`${BASE}/search/query?q=hidden`, { headers })
      await service.request(`${BASE}/search/cache/api/v1/pods`, { headers: traceparent('00') }) // not recorded
      asked = member
        .requested({ resource: 'pods' })
        .map(({ headers }) => `${headers['traceparent'] as string};${headers['tracestate'] as string}`)
        .filter((text) => text.includes(CALLER.trace))
    })
    await collector.close()
    const { spans } = collector
    assert.ok(spans.every(({ traceId, service }) => traceId === CALLER.trace && service === 'fleetsearch-test'))
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === CALLER.span)
    const [first] = roots
    assert.deepEqual(
      roots.map(({ name }) => name),
      [`GET ${BASE}/proxying`, `GET ${BASE}/proxying`, `GET ${BASE}/search/query`],
    )
    assert.equal(first?.attributes['http.request.method'], 'GET')
    assert.equal(first?.attributes['url.path'], `${LIVE}/web-0`)
    assert.equal(first?.attributes['user_agent.original'], 'kubectl/v1')
    const children = spans.filter(({ parentSpanId }) => roots.some(({ spanId }) => spanId === parentSpanId))
    assert.ok(
      children.some(({ name }) => name === 'search store'),
      JSON.stringify(spans),
    )
    const calls = children.filter(({ attributes }) => attributes['url.full'] !== undefined)
    assert.ok(calls.length > 0 && asked.length > 0, JSON.stringify(spans))
    for (const text of asked) {
      assert.ok(
        calls.some(({ spanId }) => text === `00-${CALLER.trace}-${spanId}-01;a=b`),
        text,
      )
    }
    const sent = Buffer.concat(collector.raw).toString('latin1')
    for (const secret of ['s3cret', 'hidden', 'labelSelector', 'consistency']) assert.ok(!sent.includes(secret), secret)
  })

  for (const [what, start] of [
    [
      'that is not there',
      async () => ({ url: `http://127.0.0.1:${(await freePorts(1))[0]}`, close: () => Promise.resolve() }),
    ],
    ['that never answers', () => startTraceCollector({ silent: true })],
  ] as const) {
    it(`a collector ${what} holds up neither requests nor the end; its spans are counted`, async () => {
      const collector = await start()
      let stoppedAfterMs = 0
      await withService(
        collector.url,
        async ({ service }) => {
          const ask = () => service.request(`${BASE}/search/cache/api/v1/pods`, { headers: traceparent('01') })
          for (let i = 0; i < 5 * (QUEUE / 20); i++) {
            const answers = await Promise.all(Array.from({ length: 20 }, ask))
            assert.ok(answers.every(({ status }) => status === 200))
          }
          const metrics = await service.service.metrics.metrics()
          const counted = metrics.split('\n').filter((line) => line.startsWith('fleetsearch_trace_spans_total'))
          assert.match(counted.join(), /outcome="(dropped|failed)"\} [1-9]/)
          assert.doesNotMatch(counted.join(), /exported/)
          stoppedAfterMs = performance.now()
        },
        { queueSize: QUEUE },
      )
      stoppedAfterMs = performance.now() - stoppedAfterMs
      assert.ok(stoppedAfterMs < 10_000, `${stoppedAfterMs} ms to stop`)
      await collector.close()
    })
  }

  it('cost nothing where no endpoint is given: its SDK is not even read', async () => {
    const program = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve(name, context, next) { seen.push(name); return next(name, context) } })
      await import(${JSON.stringify(new URL('../../src/app/main.ts', import.meta.url).href)})
      console.log(JSON.stringify(seen.filter((name) => /opentelemetry.*(sdk|otlp)|otel-tracer|grpc-js/.test(name))))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    assert.deepEqual(JSON.parse(stdout), [])
  })
})

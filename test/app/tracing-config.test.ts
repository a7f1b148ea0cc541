import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { readCommandLine, UsageError } from '../../src/app/options/config.ts'
import type { TracingConfig } from '../../src/app/options/tracing-config.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-tracing-'))

function tracing(argv: readonly string[], env: Readonly<Record<string, string>> = {}): TracingConfig | undefined {
  const line = readCommandLine(argv, env, '1.2.3')
  assert.ok('run' in line)
  return line.run.tracing
}

function faults(argv: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  try {
    tracing(argv, env)
  } catch (error) {
    assert.ok(error instanceof UsageError)
    return error.message
  }
  return ''
}

function file(text: string): string {
  const name = path.join(folder, 'tracing.yaml')
  writeFileSync(name, text)
  return `--tracing-config-file=${name}`
}

describe('where traces go', () => {
  after(() => rmSync(folder, { recursive: true }))

  it('waiting spans are as many as the environment says', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:1' }
    assert.equal(tracing(['serve'], env)?.queueSize, undefined)
    assert.equal(tracing(['serve'], { ...env, OTEL_BSP_MAX_QUEUE_SIZE: '64' })?.queueSize, 64)
    for (const text of ['0', '1.5', 'many', '1e9']) {
      assert.match(faults(['serve'], { ...env, OTEL_BSP_MAX_QUEUE_SIZE: text }), /OTEL_BSP_MAX_QUEUE_SIZE/)
    }
  })

  it('nowhere unless somebody says so', () => {
    assert.equal(tracing(['serve']), undefined)
    assert.equal(
      tracing(['serve'], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:1', OTEL_SDK_DISABLED: 'true' }),
      undefined,
    )
    assert.equal(
      tracing(['serve'], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:1', OTEL_TRACES_EXPORTER: 'none' }),
      undefined,
    )
  })

  it('by the file of a kube-apiserver, which says how many traces begin here', () => {
    const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n'
    assert.deepEqual(tracing(['serve', file(`${head}endpoint: otel:4317\nsamplingRatePerMillion: 100\n`)]), {
      endpoint: 'http://otel:4317',
      sampling: { ratio: 0.0001, parentBased: true },
      resource: { 'service.name': 'fleetsearch', 'service.version': '1.2.3' },
    })
    const plain = tracing(['serve', file(head)])
    assert.deepEqual([plain?.endpoint, plain?.sampling.ratio], ['http://localhost:4317', 0])
  })

  it('by the environment, for every command', () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example:4317/',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_SERVICE_NAME: 'search',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2Cb,x',
    }
    assert.deepEqual(tracing(['demo'], env), {
      endpoint: 'https://otel.example:4317',
      sampling: { ratio: 0.25, parentBased: false },
      resource: { 'service.name': 'search', 'service.version': '1.2.3', 'deployment.environment.name': 'a,b', x: '' },
    })
    assert.deepEqual(tracing(['demo'], { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'a:1' })?.sampling, {
      ratio: 1,
      parentBased: true,
    })
  })

  it('and what cannot be meant is a fault', () => {
    const bad = file('apiVersion: v1\nkind: TracingConfiguration\nendpoint: "a b"\nsamplingRatePerMillion: 2e6\nx: 1\n')
    assert.match(
      faults(['serve', bad]),
      /is no TracingConfiguration[^]*"x"[^]*from 0 to 1000000[^]*"a b" is no HOST:PORT/,
    )
    assert.match(faults(['serve', file('a: [')]), /--tracing-config-file: /)
    assert.match(faults(['serve', '--tracing-config-file=/no/such']), /ENOENT/)
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://a',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'x',
    }
    assert.match(faults(['serve'], env), /only grpc is spoken[^]*no URL of a collector[^]*x is not known here/)
  })
})

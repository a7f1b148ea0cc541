import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ListHead } from '../../src/kube/list-splitter.ts'
import { ListSplitter } from '../../src/kube/list-splitter.ts'
import { MalformedListError } from '../../src/kube/malformed-error.ts'
import { cuts, cutInto } from './chunks.ts'
import { blank, kubeObjectText } from './json-arbitrary.ts'

const MAX = 100_000

interface Split {
  readonly head: ListHead
  readonly items: readonly string[]
}

function split(chunks: readonly Uint8Array[], maxObjectBytes = MAX): Split {
  const items: string[] = []
  const onItem = (bytes: Uint8Array): void => void items.push(Buffer.from(bytes).toString('utf8'))
  const splitter = new ListSplitter({ maxObjectBytes, onItem })
  for (const chunk of chunks) splitter.push(chunk)
  return { head: splitter.end(), items }
}

const splitText = (text: string): Split => split([Buffer.from(text)])

const refuses = (text: string, code: string): void => {
  assert.throws(
    () => splitText(text),
    (error) => error instanceof MalformedListError && error.code === code,
    text,
  )
}

const list = fc
  .tuple(
    fc.array(kubeObjectText, { maxLength: 4 }),
    fc.shuffledSubarray(['"kind":"PodList"', '"apiVersion":"v1"', '"extra":{"items":[{}]}', '"odd":[1,"]"]']),
    fc.constantFrom(
      '{"resourceVersion":"7","continue":"abc","remainingItemCount":3}',
      '{"resourceVersion":"8"}',
      'null',
    ),
    fc.nat(),
    blank,
  )
  .map(([items, others, metadata, position, b]) => {
    const members = [...others, `"metadata":${metadata}`]
    members.splice(
      position % (members.length + 1),
      0,
      `"items":${b}[${items.map((item) => b + item).join(`${b},`)}${b}]`,
    )
    return `${b}{${b}${members.join(`${b},${b}`)}${b}}${b}`
  })

describe('ListSplitter', () => {
  test('gives what JSON.parse gives, wherever the chunks are cut', () => {
    fc.assert(
      fc.property(list, cuts, (text, places) => {
        const parsed = JSON.parse(text) as Record<string, never> & { items: unknown[] }
        const { head, items } = split(cutInto(Buffer.from(text), places))
        assert.deepEqual(
          items.map((item) => JSON.parse(item) as unknown),
          parsed.items,
        )
        const metadata = (parsed['metadata'] ?? {}) as Record<string, unknown>
        assert.deepEqual(head, {
          apiVersion: parsed['apiVersion'] ?? '',
          kind: parsed['kind'] ?? '',
          resourceVersion: metadata['resourceVersion'] ?? '',
          continue: metadata['continue'] ?? '',
          ...('remainingItemCount' in metadata ? { remainingItemCount: metadata['remainingItemCount'] } : {}),
        })
      }),
      { numRuns: 500 },
    )
  })

  test('splits what a member sent, byte by byte', () => {
    const body = readFileSync(new URL('../fixtures/karmada-search/members/member0-pods.json', import.meta.url))
    const { head, items } = split([...body].map((byte) => Buffer.of(byte)))
    assert.deepEqual(head, { apiVersion: 'v1', kind: 'PodList', resourceVersion: '1008', continue: '' })
    const parsed = JSON.parse(body.toString('utf8')) as { items: unknown[] }
    assert.deepEqual(
      items.map((item) => JSON.parse(item) as unknown),
      parsed.items,
    )
  })

  test('never takes a list for whole that was cut off anywhere', () => {
    const text = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":"漢"},{}]}'
    const bytes = Buffer.from(text)
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => split([bytes.subarray(0, length)]), MalformedListError, `${length} bytes`)
    }
    assert.equal(split([bytes]).items.length, 2)
  })

  test('takes null for no items, as Go writes them', () => {
    assert.deepEqual(splitText('{"kind":"PodList","metadata":{},"items":null}').items, [])
  })

  test('keeps the Status that came instead of a list', () => {
    const status = '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","code":410}'
    assert.throws(
      () => splitText(status),
      (error) => error instanceof MalformedListError && error.status?.code === 410 && /too old/.test(error.message),
    )
  })

  test('refuses other bodies', () => {
    refuses('<html>', 'syntax')
    refuses('[]', 'syntax')
    refuses('{"kind":"Pod","metadata":{}}', 'shape')
    refuses('{"items":{}}', 'shape')
    refuses('{"items":[1]}', 'syntax')
    refuses('{"items":[],"items":[]}', 'shape')
    refuses('{"items":[{}],}', 'syntax')
    refuses('{"items":[{},]}', 'syntax')
    refuses('{"items":[{}] "a":1}', 'syntax')
    refuses('{"items":[]}{}', 'syntax')
    refuses('{"a":tru,"items":[]}', 'syntax')
    refuses('{"a":{"b":1],"items":[]}', 'syntax')
    refuses('{"metadata":{"a":01},"items":[]}', 'syntax')
  })

  test('bounds what one object may take, in one chunk or in many', () => {
    const item = `{"a":"${'x'.repeat(1_000)}"}`
    const bytes = Buffer.from(`{"items":[${item}]}`)
    assert.equal(split([bytes], item.length).items.length, 1)
    for (const chunks of [[bytes], cutInto(bytes, [100, 500, 900])]) {
      assert.throws(
        () => split(chunks, item.length - 1),
        (error) => error instanceof MalformedListError && error.code === 'tooLarge',
      )
    }
  })

  test('passes a list of 200 MB through in the memory of a chunk', () => {
    const item = `{"metadata":{"name":"a"},"data":"${'x'.repeat(5_000)}"},`
    const chunk = Buffer.from(item.repeat(13))
    let items = 0
    const splitter = new ListSplitter({ maxObjectBytes: MAX, onItem: () => void items++ })
    const before = process.memoryUsage()
    let bytes = 0
    splitter.push(Buffer.from('{"kind":"ConfigMapList","items":['))
    for (; bytes < 200e6; bytes += chunk.length) splitter.push(chunk)
    const after = process.memoryUsage()
    splitter.push(Buffer.from('{}],"metadata":{"resourceVersion":"7"}}'))
    assert.equal(splitter.end().resourceVersion, '7')
    assert.equal(items, (bytes / chunk.length) * 13 + 1)
    assert.ok(after.external + after.heapUsed - before.external - before.heapUsed < 50e6)
  })

  test('lets through what its listener throws', () => {
    const fault = new Error('disk full')
    const splitter = new ListSplitter({
      maxObjectBytes: MAX,
      onItem: () => {
        throw fault
      },
    })
    assert.throws(() => splitter.push(Buffer.from('{"items":[{}]}')), fault)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MalformedEventError } from '../../src/kube/malformed-error.ts'
import type { RawWatchEvent } from '../../src/kube/watch-splitter.ts'
import { WatchSplitter } from '../../src/kube/watch-splitter.ts'
import { cuts, cutInto } from './chunks.ts'
import { kubeObjectText } from './json-arbitrary.ts'

const MAX = 4 * 1024 * 1024

function eventsOf(chunks: readonly Buffer[], maxEventBytes = MAX): RawWatchEvent[] {
  const splitter = new WatchSplitter({ maxEventBytes })
  const events = chunks.flatMap((chunk) => splitter.push(chunk))
  assert.equal(splitter.end(), 0)
  return events
}

const eventsOfText = (text: string): RawWatchEvent[] => eventsOf([Buffer.from(text)])

/** `TYPE {…}` of an event with an object. */
function shown(event: RawWatchEvent | undefined): string {
  assert.ok(event !== undefined && 'object' in event)
  return `${event.type} ${Buffer.from(event.object).toString('utf8')}`
}

const event = fc
  .tuple(fc.constantFrom('ADDED', 'MODIFIED', 'DELETED'), kubeObjectText, fc.integer({ min: 0, max: 3 }))
  .map(([type, object, form]) => {
    const forms = [
      `{"type":"${type}","object":${object.trim()}}\n`,
      `{ "type" : "${type}" , "object" : ${object} }`,
      `{"object":${object},"type":"${type}"}\n\n`,
      `{"type":"${type}","object":${object.trim()},"more":{"a":[1]}}\r\n`,
    ]
    return { type, object, text: forms[form] ?? '' }
  })

describe('WatchSplitter', () => {
  test('G6: gives every event once, wherever the chunks are cut', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), cuts, (sent, places) => {
        const events = eventsOf(cutInto(Buffer.from(sent.map(({ text }) => text).join('')), places))
        assert.deepEqual(
          events.map((got) =>
            'object' in got ? [got.type, JSON.parse(Buffer.from(got.object).toString('utf8'))] : [],
          ),
          sent.map(({ type, object }) => [type, JSON.parse(object)]),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('G6: an event in two chunks, the cut inside a character', () => {
    const line = Buffer.from('{"type":"ADDED","object":{"metadata":{"name":"po漢d-123"}}}\n')
    for (let cut = 0; cut <= line.length; cut++) {
      const [got] = eventsOf([line.subarray(0, cut), line.subarray(cut)])
      assert.equal(shown(got), 'ADDED {"metadata":{"name":"po漢d-123"}}')
    }
  })

  test('G6: a 3 MiB event', () => {
    const object = `{"data":"${'漢\\"{'.repeat(512 * 1024)}"}`
    const bytes = Buffer.from(`{"type":"MODIFIED","object":${object}}\n`)
    assert.ok(bytes.length > 3 * 1024 * 1024)
    const chunks = cutInto(
      bytes,
      [...Array(64).keys()].map((i) => i * 65_536),
    )
    assert.ok(shown(eventsOf(chunks)[0]) === `MODIFIED ${object}`) // not equal(): it would print both
  })

  test('G6: two events in one chunk, and blank lines between', () => {
    const events = eventsOfText('{"type":"ADDED","object":{"a":1}}\n\n\r\n{"type":"DELETED","object":{"a":2}}')
    assert.deepEqual(events.map(shown), ['ADDED {"a":1}', 'DELETED {"a":2}'])
  })

  test('G6: half an event at the end is discarded, and told', () => {
    const splitter = new WatchSplitter({ maxEventBytes: MAX })
    const events = splitter.push(Buffer.from('{"type":"ADDED","object":{"a":1}}\n{"type":"ADDED","obj'))
    assert.deepEqual(events.map(shown), ['ADDED {"a":1}'])
    assert.equal(splitter.end(), 20)
  })

  test('G6: a bare Status is an ERROR event', () => {
    const events = eventsOfText('{"kind":"Status","status":"Failure","message":"gone","reason":"Expired","code":410}\n')
    assert.deepEqual(events, [
      {
        type: 'ERROR',
        status: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'gone',
          reason: 'Expired',
          code: 410,
        },
      },
    ])
  })

  test('reads bookmarks, and the one that ends the initial events', () => {
    const bookmark = (metadata: string): string =>
      `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":${metadata},"spec":{"containers":null}}}\n`
    const last = '{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}'
    assert.deepEqual(eventsOfText(bookmark('{"resourceVersion":"7","creationTimestamp":null}') + bookmark(last)), [
      { type: 'BOOKMARK', resourceVersion: '7', initialEventsEnd: false },
      { type: 'BOOKMARK', resourceVersion: '8', initialEventsEnd: true },
    ])
  })

  test('reads errors, also such that carry no Status', () => {
    const [expired, odd] = eventsOfText(
      '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","metadata":{"continue":"X"}}}' +
        '{"type":"ERROR","object":null}',
    )
    assert.ok(expired?.type === 'ERROR' && odd?.type === 'ERROR')
    assert.equal(expired.status.reason, 'Expired')
    assert.equal(expired.status.metadata.continue, 'X')
    assert.equal(odd.status.code, 500)
  })

  const malformed = [
    'plain text\n',
    '[]',
    '{"type":"UNHEARD","object":{}}',
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":{"a":1]}',
    '{"type":"BOOKMARK","object":{"metadata":{}}}',
    '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":7}}}',
    '{"type":"BOOKMARK","object":null}',
    '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7",}}}',
    '{"type":"ERROR","object":nul}',
    '{"type":5,"object":{}}',
    '{"type":"ADDED" "object":{}}',
  ]
  for (const text of malformed) {
    test(`refuses ${text.trim()}`, () => {
      assert.throws(() => eventsOfText(`${text}}`), MalformedEventError)
    })
  }

  test('hands on the good events of a chunk before it throws for the bad one', () => {
    const splitter = new WatchSplitter({ maxEventBytes: MAX })
    assert.deepEqual(splitter.push(Buffer.from('{"type":"ADDED","object":{}}\noops')).map(shown), ['ADDED {}'])
    assert.throws(() => splitter.push(Buffer.from('{"type":"ADDED","object":{}}')), MalformedEventError)
    assert.throws(() => splitter.end(), MalformedEventError)
  })

  test('bounds what one event may take', () => {
    const bytes = Buffer.from(`{"type":"ADDED","object":{"a":"${'x'.repeat(1_000)}"}}`)
    assert.equal(eventsOf([bytes], bytes.length).length, 1)
    for (const chunks of [[bytes], cutInto(bytes, [100, 500, 900])]) {
      assert.throws(
        () => eventsOf(chunks, bytes.length - 1),
        (error) => error instanceof MalformedEventError && error.code === 'tooLarge',
      )
    }
    const endless = Buffer.from(`{"type":"ADDED","object":{"a":"${'x'.repeat(2_000)}`)
    assert.throws(() => new WatchSplitter({ maxEventBytes: 1_000 }).push(endless), MalformedEventError)
  })
})

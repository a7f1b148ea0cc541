import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createLogger } from '../../src/telemetry/logger.ts'
import { logText } from '../../src/telemetry/log-text.ts'

/** What a logger writes, as somebody at a terminal sees it, without the time. */
function written(colours: boolean, log: (logger: ReturnType<typeof createLogger>) => void): string {
  let text = ''
  log(createLogger('debug', { write: (line) => void (text += logText(line, { colours })) }))
  return text.replace(/\d\d:\d\d:\d\d/g, 'TIME')
}

it('is time, level, message and what belongs to it', () => {
  const text = written(false, (log) => {
    log.info(
      { cluster: 'a', shards: 176, waitMs: 1273.8306270222413, list: ['x', 'y'], words: 'two words', gone: undefined },
      'a message',
    )
    log.child({ cluster: 'b' }).debug('another')
  })
  assert.equal(
    text,
    'TIME info  a message  cluster=a shards=176 waitMs=1274 list=["x","y"] words="two words"\nTIME debug another  cluster=b\n',
  )
})

it('shows an error below its record; where it came from only where that is a fault', () => {
  const error = Object.assign(new TypeError('no\nsuch'), { stack: 'TypeError: no\nsuch\n    at here' })
  assert.equal(
    written(false, (log) => log.warn({ err: error, cluster: 'a' }, 'failed')),
    'TIME warn  failed  cluster=a\n         TypeError: no\n         such\n',
  )
  assert.match(
    written(false, (log) => log.error({ err: error }, 'failed')),
    /^TIME error failed\n {9}TypeError: no\n {9}such\n {13}at here\n$/,
  )
})

it('can have colours, cuts long values, and leaves alone what is no record', () => {
  assert.match(
    written(true, (log) => log.warn({ key: 'v' }, 'm')),
    /\u001b\[33mwarn \u001b\[39m m/,
  )
  const long = written(false, (log) => log.info({ key: 'x'.repeat(10_000) }, 'm'))
  assert.ok(long.length < 400 && long.includes('…'))
  for (const line of ['no record\n', '[1]\n', 'null\n', '{"level":30\n']) {
    assert.equal(logText(line, { colours: false }), line)
  }
})

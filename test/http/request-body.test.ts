import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { readBytes } from '../../src/http/request-body.ts'

const incoming = (chunks: readonly string[]): IncomingMessage =>
  Readable.from(chunks.map((text) => Buffer.from(text))) as unknown as IncomingMessage

test('a body of the limit is read whole; a byte more is refused, and the request stays open for the answer', async () => {
  assert.equal((await readBytes(incoming(['ab', 'c']), 3)).toString(), 'abc')
  const longer = incoming(['ab', 'cd'])
  await assert.rejects(readBytes(longer, 3), { code: 'requestEntityTooLarge' })
  assert.equal(longer.destroyed, false)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sendBody, sendBytes, sendJson } from '../../src/http/answer.ts'
import type { ApiHandler } from '../../src/http/api-request.ts'
import { Loopback } from './loopback.ts'

async function serving(handler: ApiHandler, run: (api: Loopback) => Promise<void>): Promise<void> {
  const api = await Loopback.start(handler)
  try {
    await run(api)
  } finally {
    await api.close()
  }
}

const headers = { 'content-type': 'text/plain' }

test('a small answer has a length and is not compressed', async () => {
  await serving(
    (request, response) => sendJson({ request, response }, { a: 1 }),
    async (api) => {
      const { headers: got, json } = await api.ask('/', { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(got['content-length'], '8')
      assert.equal(got['content-encoding'], undefined)
      assert.equal(got['cache-control'], 'no-cache, private')
      assert.deepEqual(json, { a: 1 })
    },
  )
})

for (const size of [0, 1, 16 * 1024, 128 * 1024 - 1, 128 * 1024, 128 * 1024 + 1, 3_000_000]) {
  test(`${size} bytes arrive whole, plain and gzipped, in pieces of any size`, async () => {
    const bytes = Buffer.from(
      randomBytes(Math.ceil(size / 2))
        .toString('hex')
        .slice(0, size),
    )
    await serving(
      ({ ...request }, response) =>
        sendBody({ request, response }, { headers }, async (body) => {
          for (let at = 0, step = 1; at < bytes.length; at += step, step = (step * 7) % 70_001) {
            body.write(bytes.subarray(at, at + step))
            const wait = body.ready()
            if (wait !== undefined) await wait
          }
        }),
      async (api) => {
        const plain = await api.ask('/')
        assert.ok(plain.raw.equals(bytes))
        const zipped = await api.ask('/', { headers: { 'accept-encoding': 'gzip' } })
        assert.equal(zipped.headers['content-encoding'], size >= 16 * 1024 ? 'gzip' : undefined)
        assert.equal(zipped.text, bytes.toString())
      },
    )
  })
}

test('the writer copies: its caller may reuse a buffer at once', async () => {
  await serving(
    (request, response) =>
      sendBody({ request, response }, { headers }, (body) => {
        const buffer = Buffer.from('aaaa')
        body.write(buffer)
        buffer.fill('b')
        body.write(buffer)
        return Promise.resolve()
      }),
    async (api) => assert.equal((await api.ask('/')).text, 'aaaabbbb'),
  )
})

test('HEAD has the head and no body', async () => {
  await serving(
    (request, response) => sendBytes({ request, response }, { headers }, Buffer.from('body')),
    async (api) => {
      const { status, text, headers: got } = await api.ask('/', { method: 'HEAD' })
      assert.equal(status, 200)
      assert.equal(text, '')
      assert.equal(got['content-type'], 'text/plain')
    },
  )
})

test('a reader that reads nothing stops the writer, and its leaving ends the answer quietly', async () => {
  let written = 0
  let finished: () => void = () => undefined
  const over = new Promise<void>((resolve) => (finished = resolve))
  await serving(
    async (request, response) => {
      await sendBody({ request, response }, { headers }, async (body) => {
        const piece = Buffer.alloc(64 * 1024)
        for (let i = 0; i < 4_000; i++) {
          body.write(piece)
          written += piece.length
          const wait = body.ready()
          if (wait !== undefined) await wait
        }
      })
      finished()
    },
    async (api) => {
      const stalled = await api.stalledWatch('/')
      for (let last = -1; last !== written;) {
        last = written
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.ok(written > 0 && written < 60_000_000, `back-pressure: ${written} of 262144000 bytes`)
      stalled.leave()
      await over
      assert.deepEqual(api.faults, [])
    },
  )
})

test('a fault before anything is sent is an answer of its own; one in the middle cuts the connection', async () => {
  await serving(
    (request, response) =>
      sendBody({ request, response }, { headers }, async (body) => {
        if (request.path === '/late') {
          body.write(Buffer.alloc(500_000))
          await body.ready()
        }
        throw new Error('broken')
      }),
    async (api) => {
      const early = await api.ask('/early')
      assert.equal(early.status, 500)
      assert.equal(early.json.reason, 'InternalError')
      assert.doesNotMatch(early.text, /broken/, 'what went wrong inside is for the log')
      await assert.rejects(api.ask('/late'))
      assert.equal(api.faults.length, 2)
    },
  )
})

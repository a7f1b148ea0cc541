import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { RotatingFile, type RotatingFileOptions } from '../../src/apiserver/audit/rotating-file.ts'

const DAY_MS = 24 * 60 * 60_000

describe('rotating file', () => {
  let folder = ''
  let nowMs = Date.UTC(2026, 10, 30, 8)
  const errors: unknown[] = []

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fleetsearch-audit-'))
    nowMs = Date.UTC(2026, 10, 30, 8)
    errors.length = 0
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
    assert.deepEqual(errors, [])
  })

  function open(options: Partial<RotatingFileOptions> = {}): RotatingFile {
    return new RotatingFile({
      file: path.join(folder, 'audit.log'),
      maxBytes: 100,
      maxAgeMs: 0,
      maxBackups: 0,
      compress: false,
      nowMs: () => nowMs,
      onError: (error) => errors.push(error),
      ...options,
    })
  }

  const names = async (): Promise<string[]> => (await readdir(folder)).sort()

  it('starts over when it is full, under names with the time in them, and loses no line', async () => {
    const file = open()
    for (let i = 0; i < 10; i++) {
      file.write(`line ${i} ${'x'.repeat(30)}`)
      nowMs += 1_500
    }
    await file.close()
    const all = await names()
    assert.deepEqual(all.slice(0, 2), ['audit-2026-11-30T08-00-03.000.log', 'audit-2026-11-30T08-00-06.000.log'])
    const texts = await Promise.all(all.map((name) => readFile(path.join(folder, name), 'utf8')))
    const lines = texts.join('').trim().split('\n')
    assert.deepEqual(
      lines.map((line) => line.split(' ')[1]),
      ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'],
    )
    assert.ok(texts.every((text) => text.length <= 100))
    assert.equal((await stat(path.join(folder, 'audit.log'))).mode & 0o777, 0o600)
  })

  it('goes on with the file that is there, in a folder that it makes', async () => {
    const file = path.join(folder, 'deep', 'audit.log')
    for (const text of ['a', 'b']) {
      const log = open({ file })
      log.write(text)
      await log.close()
    }
    assert.equal(await readFile(file, 'utf8'), 'a\nb\n')
  })

  it('keeps so many, so long, and touches nothing that is not its own', async () => {
    const strangers = ['audit-notes.log', 'audit-2026-11-30.log', 'other-2026-11-30T08-00-00.000.log']
    for (const name of strangers) await writeFile(path.join(folder, name), 'x')
    const file = open({ maxBackups: 2, maxAgeMs: 10 * DAY_MS })
    for (let i = 0; i < 6; i++) {
      file.write('x'.repeat(90))
      nowMs += DAY_MS
    }
    await file.close()
    const own = (await names()).filter((name) => !strangers.includes(name))
    assert.deepEqual(own, ['audit-2026-12-04T08-00-00.000.log', 'audit-2026-12-05T08-00-00.000.log', 'audit.log'])
    nowMs += 9 * DAY_MS
    await open({ maxBackups: 2, maxAgeMs: 10 * DAY_MS }).close()
    assert.deepEqual(
      (await names()).filter((name) => !strangers.includes(name)),
      ['audit-2026-12-05T08-00-00.000.log', 'audit.log'],
    )
    assert.deepEqual(await names(), [...strangers, 'audit-2026-12-05T08-00-00.000.log', 'audit.log'].sort())
  })

  it('gives two names to what is full twice in one millisecond, and is never full with a size of 0', async () => {
    const file = open()
    for (let i = 0; i < 4; i++) file.write('x'.repeat(90))
    await file.close()
    assert.equal((await names()).length, 4)
    const endless = open({ file: path.join(folder, 'endless.log'), maxBytes: 0 })
    for (let i = 0; i < 50; i++) endless.write('x'.repeat(90))
    await endless.close()
    assert.ok(!(await names()).some((name) => name.startsWith('endless-')))
  })

  it('compresses what it rotates', async () => {
    const file = open({ compress: true })
    for (let i = 0; i < 3; i++) file.write(`${i}${'x'.repeat(90)}`)
    await file.close()
    const packed = (await names()).filter((name) => name.endsWith('.gz'))
    assert.deepEqual(packed, ['audit-2026-11-30T08-00-00.000.log.gz', 'audit-2026-11-30T08-00-00.001.log.gz'])
    const text = gunzipSync(await readFile(path.join(folder, packed[0] ?? ''))).toString()
    assert.equal(text, `0${'x'.repeat(90)}\n`)
    assert.equal((await names()).length, 3)
  })
})

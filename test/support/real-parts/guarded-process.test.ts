import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startGuarded } from './guarded-process.ts'

const MODULE = path.join(import.meta.dirname, 'guarded-process.ts')

/** A process that starts a guarded `sleep`, prints its id and then hangs. */
const STARTER = `
  import { startGuarded } from ${JSON.stringify(MODULE)}
  const folder = process.argv[1]
  const guarded = await startGuarded({ command: 'sleep', args: ['300'], logPath: folder + '/log', folder })
  console.log(guarded.pid)
  setInterval(() => {}, 1000)
`

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !condition(); i++) await delay(20)
  assert.ok(condition(), what)
}

describe('a guarded process', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-guard-'))
  })
  after(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  it('passes signals on and reports the exit', async () => {
    const guarded = await startGuarded({ command: 'sleep', args: ['300'], logPath: path.join(folder, 'log'), folder })
    assert.ok(alive(guarded.pid))
    await guarded.kill()
    assert.equal(await guarded.exited, 137)
    assert.ok(!guarded.running)
    await guarded.stop()
    assert.ok(existsSync(folder), 'stopped by its starter: the folder stays')
  })

  it('dies with its starter, even by SIGKILL, and its folder goes', async () => {
    const own = mkdtempSync(path.join(folder, 'own-'))
    const starter = spawn(process.execPath, ['--input-type=module', '-e', STARTER, own])
    const [chunk] = (await starter.stdout.take(1).toArray()) as [Buffer]
    const pid = Number(chunk.toString())
    assert.ok(alive(pid))
    starter.kill('SIGKILL')
    await until('the command is gone', () => !alive(pid))
    await until('the folder is gone', () => !existsSync(own))
  })
})

/**
 * Runs bench/*.ts, one process after the other: `npm run bench`, or `npm run bench -- cache scanner` for some of them.
 * Benches print their own figures; absolute times move with the machine, ratios within one run are what to compare.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'

const wanted = process.argv.slice(2)
const benches = globSync('bench/*.ts')
  .sort()
  // `fleet-*` are parts of other benches.
  .filter((file) => !path.basename(file).startsWith('fleet-'))
  .filter((file) => wanted.length === 0 || wanted.includes(path.basename(file, '.ts')))

if (benches.length === 0) {
  process.stderr.write(`no such bench: ${wanted.join(', ')}\n`)
  process.exitCode = 2
}
for (const file of benches) {
  process.stdout.write(`\n# ${path.basename(file, '.ts')}\n`)
  // Benches read heap sizes after a collection.
  const { status } = spawnSync(process.execPath, ['--expose-gc', file], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}

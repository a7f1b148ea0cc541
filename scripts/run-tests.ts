/**
 * Runs one tier of tests: `node scripts/run-tests.ts unit|integration|e2e|nightly [file…]`.
 * Each file runs in its own process; one that leaves a socket or a timer behind fails (test/support/leak-check.ts).
 * With FLEETSEARCH_TEST_COUNTS set, appends a JSON line of counts to that file, so that CI can add the tiers up.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

interface Tier {
  readonly include: string
  readonly exclude: readonly string[]
  /** What takes longest, to be begun first. */
  readonly longest?: readonly string[]
  /** What measures or kills under load: run after the others, one file at a time. */
  readonly alone?: readonly string[]
  /** Files at once. Those with real servers wait for half of their time: two of them fill two cores. */
  readonly concurrency: number
  readonly timeoutMs: number
  /** The whole tier is killed and has failed after this long. */
  readonly limitMs: number
}

const TIERS: Readonly<Record<string, Tier>> = {
  unit: {
    include: 'test/**/*.test.ts',
    exclude: ['test/integration/', 'test/e2e/', 'test/nightly/'],
    concurrency: 2,
    timeoutMs: 120_000,
    limitMs: 600_000,
  },
  integration: {
    include: 'test/integration/**/*.test.ts',
    exclude: [],
    alone: ['test/integration/big-list.test.ts'],
    concurrency: 2,
    timeoutMs: 600_000,
    limitMs: 1_200_000,
  },
  e2e: {
    include: 'test/e2e/**/*.test.ts',
    exclude: [],
    longest: ['test/e2e/kubectl-matrix.test.ts'],
    alone: ['test/e2e/high-availability.test.ts', 'test/e2e/zero-loss.test.ts'],
    concurrency: 2,
    timeoutMs: 900_000,
    limitMs: 1_800_000,
  },
  nightly: {
    include: 'test/nightly/**/*.test.ts',
    exclude: [],
    concurrency: 1,
    timeoutMs: 3_600_000,
    limitMs: 10_800_000,
  },
}

async function main(tierName: string, files: readonly string[]): Promise<number> {
  const tier = TIERS[tierName]
  if (tier === undefined) {
    process.stderr.write(`unknown tier ${tierName}; one of ${Object.keys(TIERS).join(', ')}\n`)
    return 2
  }
  const selected = files.length > 0 ? files : filesOf(tier)
  if (selected.length === 0) {
    process.stderr.write(`no test files in tier ${tierName}\n`)
    return 1
  }
  const alone = selected.filter((file) => tier.alone?.includes(file))
  const together = selected.filter((file) => !alone.includes(file))
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-tests-'))
  try {
    const parts = [
      { files: together, counts: path.join(folder, 'together.json'), concurrency: tier.concurrency },
      { files: alone, counts: path.join(folder, 'alone.json'), concurrency: 1 },
    ].filter((part) => part.files.length > 0)
    let code = 0
    for (const part of parts) code = (await run(tier, part)) || code
    report(
      tierName,
      parts.map(({ counts }) => counts),
    )
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filesOf(tier: Tier): string[] {
  return globSync(tier.include)
    .filter((file) => !tier.exclude.some((prefix) => file.startsWith(prefix)))
    .sort((a, b) => begin(tier, a) - begin(tier, b) || (a < b ? -1 : 1))
}

function begin(tier: Tier, file: string): number {
  return tier.longest?.includes(file) === true ? 0 : 1
}

interface Part {
  readonly files: readonly string[]
  /** A file to write counts into. */
  readonly counts: string
  readonly concurrency: number
}

function run(tier: Tier, { files, counts, concurrency }: Part): Promise<number> {
  const args = [
    '--test',
    '--import=./test/support/leak-check.ts',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${tier.timeoutMs}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/count-reporter.ts',
    `--test-reporter-destination=${counts}`,
    ...files,
  ]
  // A group of its own, so that whatever hangs below it ends with it.
  const child = spawn(process.execPath, args, { stdio: 'inherit', detached: true })
  const endGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  const limit = setTimeout(() => {
    process.stderr.write(`the tier is not done after ${tier.limitMs / 60_000} minutes: killed\n`)
    endGroup()
  }, tier.limitMs)
  process.once('SIGINT', endGroup).once('SIGTERM', endGroup)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(limit)
      resolve(code ?? 1)
    })
  })
}

function report(tierName: string, files: readonly string[]): void {
  const lines = files.map(countsIn)
  const target = process.env['FLEETSEARCH_TEST_COUNTS']
  if (target !== undefined) for (const line of lines) appendFileSync(target, `${JSON.stringify(line)}\n`)
  const sum = (key: keyof Counts): number => lines.reduce((total, counts) => total + counts[key], 0)
  process.stdout.write(`${tierName}: ${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`)
}

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A run that was killed has written nothing: that is one failure. */
function countsIn(file: string): Counts {
  const line = readFileSync(file, { encoding: 'utf8', flag: 'a+' }).trim()
  return line === '' ? { passed: 0, failed: 1, skipped: 0 } : (JSON.parse(line) as Counts)
}

process.exitCode = await main(process.argv[2] ?? 'unit', process.argv.slice(3))

/** Reads the command line and runs the command until `signal` aborts. Resolves with the exit code. */
import { createLogger } from '../telemetry/logger.ts'
import { systemClock, systemRandom } from '../util/clock.ts'
import { readCommandLine, UsageError, type CommandLine, type Environment } from './options/config.ts'
import { runCommand } from './run.ts'
import { VERSION } from './version.ts'

export async function main(argv: readonly string[], env: Environment, signal: AbortSignal): Promise<number> {
  let line: CommandLine
  try {
    line = readCommandLine(argv, env, VERSION)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 2
  }
  if ('print' in line) {
    process.stdout.write(line.print)
    return 0
  }
  const log = createLogger(line.run.logLevel)
  for (const warning of line.run.warnings) log.warn(warning)
  try {
    await runCommand(
      line.run,
      { log, clock: systemClock, random: systemRandom, print: (text) => process.stdout.write(text) },
      signal,
    )
    return 0
  } catch (err) {
    log.error({ err }, 'cannot go on')
    return 1
  }
}

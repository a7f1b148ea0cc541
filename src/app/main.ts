/** Reads the command line and runs the command until `signal` aborts. Resolves with the exit code. */
import { ListenError } from '../apiserver/server.ts'
import { createLogger } from '../telemetry/logger.ts'
import { systemClock, systemRandom } from '../util/clock.ts'
import { readCommandLine, UsageError, type CommandLine, type Config, type Environment } from './options/config.ts'
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
    const advice = adviceFor(err, line.run)
    if (advice === undefined) log.error({ err }, 'cannot go on')
    else process.stderr.write(`fleetsearch: ${advice}\n`)
    return 1
  }
}

/** What somebody at a terminal can do about it, in one line; undefined: the log says more. */
function adviceFor(error: unknown, { command }: Config): string | undefined {
  if (command === 'serve' || !(error instanceof ListenError)) return undefined
  return `${error.message}; choose another with --port`
}

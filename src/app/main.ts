/** Reads the command line and runs the command until `signal` aborts. Resolves with the exit code. */
import { ListenError } from '../apiserver/server.ts'
import { createLogger, standardError, type LogFormat } from '../telemetry/logger.ts'
import { systemClock, systemRandom } from '../util/clock.ts'
import { readCommandLine, UsageError, type CommandLine, type Config } from './options/config.ts'
import type { Environment } from './options/environment.ts'
import { runCommand } from './run.ts'
import { VERSION } from './version.ts'

export async function main(argv: readonly string[], env: Environment, signal: AbortSignal): Promise<number> {
  let line: CommandLine
  try {
    line = readCommandLine(argv, env, VERSION)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n${error.advice === '' ? '' : `(${error.advice})\n`}`)
    return 2
  }
  if ('print' in line) {
    process.stdout.write(line.print)
    return 0
  }
  const colours = process.stderr.isTTY && env['NO_COLOR'] === undefined
  const log = createLogger(line.run.logLevel, standardError(formatOf(line.run), colours))
  for (const warning of line.run.warnings) log.warn(warning)
  try {
    await runCommand(
      line.run,
      { log, clock: systemClock, random: systemRandom, print: (text) => process.stdout.write(text) },
      signal,
    )
    return 0
  } catch (err) {
    const advice = adviceFor(err, line.run, env)
    if (advice === undefined) log.error({ err }, 'cannot go on')
    else process.stderr.write(`fleetsearch: ${advice}\n`)
    return 1
  }
}

/** Whoever runs a demo or his own clusters reads along; what a service writes is collected. */
function formatOf({ command, logFormat }: Config): LogFormat {
  if (logFormat !== 'auto') return logFormat
  return command === 'serve' && !process.stderr.isTTY ? 'json' : 'text'
}

/** What somebody at a terminal can do about it, in one line; undefined: the log says more. */
function adviceFor(error: unknown, { command }: Config, env: Environment): string | undefined {
  if (command === 'serve' || !(error instanceof ListenError)) return undefined
  const example =
    env['npm_lifecycle_event'] === 'start' ? 'npm start -- --port 9090' : `fleetsearch ${command} --port 9090`
  return `${error.message}; choose another with --port ("${example}", or 0 for any that is free)`
}

/** Structured logs: a constant message and key/values (`cluster`, `gvr`, `object`; errors under `err`). */
import { pino, stdSerializers, type Logger as PinoLogger, type DestinationStream } from 'pino'
import { logText } from './log-text.ts'

/** The part of pino we use. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & { child(bindings: object): Logger }

/** `json`: a line for each record, for machines; `text`: for somebody who reads along. */
export type LogFormat = 'json' | 'text'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

/** Logs JSON lines to `destination` (default: standard error). Credentials must be redacted where a record is made. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      serializers: { err: stdSerializers.err },
    },
    destination ?? standardError('json', false),
  )
}

/** Where records go by default, in one form or the other. */
export function standardError(format: LogFormat, colours: boolean): DestinationStream {
  const out = pino.destination({ fd: 2, sync: true })
  out.on('error', () => undefined) // of a terminal that was closed
  return format === 'json' ? out : { write: (line) => void out.write(logText(line, { colours })) }
}

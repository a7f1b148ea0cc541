/** Structured logs: a constant message and key/values (`cluster`, `gvr`, `object`; errors under `err`). */
import { pino, stdSerializers, type Logger as PinoLogger, type DestinationStream } from 'pino'

/** The part of pino we use. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & { child(bindings: object): Logger }

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
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
}

/** Flags of profiles. */
import type { FlagReader } from './flag-reader.ts'

export interface ProfilingConfig {
  /** Under `/debug/pprof/` of the main port, for who has the right to it. */
  readonly mainPort: boolean
  /** Heap snapshots too, on the main port. */
  readonly snapshots: boolean
  /** A port of its own, without TLS and without a question who comes. */
  readonly address: { readonly host: string | undefined; readonly port: number } | undefined
  /** Unix-domain socket. */
  readonly socket: string | undefined
}

export function profilingConfig(flags: FlagReader): ProfilingConfig {
  const enabled = flags.bool('enable-pprof')
  const address = addressOf(flags)
  return {
    mainPort: flags.bool('profiling'),
    snapshots: enabled,
    address: enabled ? address : undefined,
    socket: flags.text('debug-socket-path'),
  }
}

/** `HOST:PORT` or `:PORT`; without a host (undefined) it is every address. */
function addressOf(flags: FlagReader): ProfilingConfig['address'] {
  const text = flags.text('profiling-bind-address') ?? ''
  const [, host = '', port = ''] = /^(.*):([0-9]{1,5})$/.exec(text) ?? []
  const number = Number(port)
  if (port === '' || number > 65_535) {
    flags.faults.push(`--profiling-bind-address: ${text} is no HOST:PORT`)
    return undefined
  }
  return { host: host === '' ? undefined : host.replace(/^\[(.*)\]$/, '$1'), port: number }
}

/** A command-line flag as data. */
export type FlagType = 'bool' | 'int' | 'float' | 'duration' | 'string' | 'strings' | 'repeated'

export type FlagGroup =
  | 'fleet'
  | 'serving'
  | 'authentication'
  | 'authorization'
  | 'storage'
  | 'audit'
  | 'logging'
  | 'server'
  | 'leader election'
  | 'local'

export interface FlagSpec {
  readonly name: string
  readonly short?: string
  readonly group: FlagGroup
  /** How a value is checked. Durations are Go's (`1m30s`); `strings` may be repeated and hold commas as separators, `repeated` values are taken whole. */
  readonly type: FlagType
  readonly default?: string
  /** What it does here; undefined: accepted with a warning and without effect. */
  readonly honoured?: string
}

/** Values by flag name; only flags that were given or have a default. Lists are split. */
export type FlagValues = ReadonlyMap<string, string | readonly string[]>

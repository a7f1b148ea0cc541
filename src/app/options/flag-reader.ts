/** Values of flags in the types that the configuration has; every fault is noted, none is thrown. */
import { readFileSync } from 'node:fs'
import { parseGoDuration } from '../../kube/duration.ts'
import type { FlagValues } from './flag-spec.ts'
import { parseBool } from './parse-flags.ts'

export class FlagReader {
  readonly #values: FlagValues
  readonly faults: string[]

  constructor(values: FlagValues, faults: string[]) {
    this.#values = values
    this.faults = faults
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name)
    return Array.isArray(value) ? (value as readonly string[]) : []
  }

  number(name: string, min: number, max: number): number {
    const value = Number(this.text(name) ?? min)
    if (value < min || value > max) this.faults.push(`--${name} must be between ${min} and ${max}, not ${value}`)
    return value
  }

  bool(name: string): boolean {
    return parseBool(this.text(name) ?? 'false') ?? false
  }

  durationMs(name: string): number {
    const value = parseGoDuration(this.text(name) ?? '0s') ?? 0
    if (value < 0) this.faults.push(`--${name} must not be negative`)
    return value
  }

  choice<const T extends string>(name: string, choices: readonly T[]): T {
    const value = this.text(name)
    const found = choices.find((choice) => choice === value)
    if (found === undefined && value !== undefined)
      this.faults.push(`--${name} must be one of ${choices.join(', ')}, not ${value}`)
    return found ?? (choices[0] as T)
  }

  /** A file that must be readable now. */
  file(name: string): string | undefined {
    const file = this.text(name)
    if (file === undefined) return undefined
    try {
      readFileSync(file)
    } catch (error) {
      this.faults.push(`--${name}: ${(error as Error).message}`)
    }
    return file
  }
}

/**
 * Plugins of others for the proxy's chain (`--proxy-plugins`). A module's default export is a function that gets what plugins may
 * use and returns one plugin or several; docs/proxy-plugins.md.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CacheReader } from '../cache/reader.ts'
import type { FleetReader } from '../fleet/fleet.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Forwarder } from '../proxy/forward/forward.ts'
import { memberDestination } from '../proxy/forward/destination.ts'
import { routeToOwner } from '../proxy/forward/route.ts'
import type { Plugin } from '../proxy/plugin.ts'
import type { Logger } from '../telemetry/logger.ts'

/** What a plugin may use. Our own types and helpers are handed in, so that a module needs no import of ours. */
export interface PluginContext {
  readonly fleet: FleetReader
  readonly cache: CacheReader
  readonly forwarder: Forwarder
  readonly log: Logger
  readonly routeToOwner: typeof routeToOwner
  readonly memberDestination: typeof memberDestination
  readonly StatusError: typeof StatusError
}

export type PluginModule = (context: PluginContext) => Plugin | readonly Plugin[] | Promise<Plugin | readonly Plugin[]>

/** Rejects with an error that names the path. */
async function loadModule(file: string): Promise<(context: PluginContext) => Promise<readonly Plugin[]>> {
  let loaded: { readonly default?: unknown }
  try {
    loaded = (await import(pathToFileURL(path.resolve(file)).href)) as typeof loaded
  } catch (error) {
    throw new Error(`--proxy-plugins: ${file} cannot be loaded: ${String((error as Error).message)}`, { cause: error })
  }
  const create = loaded.default
  if (typeof create !== 'function') throw new Error(`--proxy-plugins: ${file} has no function as its default export`)
  return async (context) => {
    const made: unknown = await (create as PluginModule)(context)
    const plugins: readonly unknown[] = Array.isArray(made) ? made : [made]
    if (!plugins.every(isPlugin))
      throw new Error(`--proxy-plugins: ${file} does not make plugins: name, order, supports, connect`)
    return plugins
  }
}

function isPlugin(value: unknown): value is Plugin {
  if (typeof value !== 'object' || value === null) return false
  const { name, order, supports, connect } = value as Partial<Record<keyof Plugin, unknown>>
  return (
    typeof name === 'string' &&
    Number.isFinite(order) &&
    typeof supports === 'function' &&
    typeof connect === 'function'
  )
}

/** In the order of their paths. */
export async function createPlugins(
  paths: readonly string[],
  parts: Omit<PluginContext, 'routeToOwner' | 'memberDestination' | 'StatusError'>,
): Promise<Plugin[]> {
  const context: PluginContext = { ...parts, routeToOwner, memberDestination, StatusError }
  const made: Plugin[] = []
  for (const file of paths) made.push(...(await (await loadModule(file))(context)))
  return made
}

/**
 * Where traces go: `--tracing-config-file`, else the environment that OpenTelemetry names.
 * Source: apiserver pkg/apis/apiserver (TracingConfiguration), component-base tracing; opentelemetry.io "Environment Variable
 * Specification".
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Sampling } from '../../telemetry/otel-tracer.ts'
import type { Environment } from './environment.ts'
import type { FlagReader } from './flag-reader.ts'

export interface TracingConfig {
  /** `http://HOST:PORT` (plain), `https://HOST:PORT`. */
  readonly endpoint: string
  readonly sampling: Sampling
  readonly resource: Readonly<Record<string, string>>
  /** Spans that wait at most; default: as OpenTelemetry's. */
  readonly queueSize?: number
}

/** Undefined where no endpoint is given. The environment holds for every command, the file for `serve`. */
export function tracingConfig(flags: FlagReader, env: Environment, version: string): TracingConfig | undefined {
  const file = flags.text('tracing-config-file')
  const found = file === undefined ? fromEnvironment(env, flags) : fromFile(file, flags)
  return found === undefined ? undefined : { ...found, ...queueIn(env, flags), resource: resourceOf(env, version) }
}

type Endpoint = Omit<TracingConfig, 'resource' | 'queueSize'>

function queueIn(env: Environment, flags: FlagReader): Pick<TracingConfig, 'queueSize'> {
  const text = env['OTEL_BSP_MAX_QUEUE_SIZE'] ?? ''
  if (text === '') return {}
  const queueSize = Number(text)
  if (!Number.isInteger(queueSize) || queueSize < 1 || queueSize > 1e6) {
    flags.faults.push('OTEL_BSP_MAX_QUEUE_SIZE must be a whole number from 1 to 1000000')
  }
  return { queueSize }
}

/** The default of a kube-apiserver: a collector beside it. */
const DEFAULT_ENDPOINT = 'localhost:4317'
const VERSIONS = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1', 'apiserver.config.k8s.io/v1alpha1']
const FIELDS = new Set(['apiVersion', 'kind', 'endpoint', 'samplingRatePerMillion'])

function fromFile(file: string, flags: FlagReader): Endpoint | undefined {
  const fault = (text: string): void => {
    flags.faults.push(`--tracing-config-file: ${text}`)
  }
  let config: unknown
  try {
    config = parse(readFileSync(file, 'utf8'))
  } catch (error) {
    fault((error as Error).message.split('\n', 1).join(''))
    return undefined
  }
  const { apiVersion, kind, endpoint = DEFAULT_ENDPOINT, samplingRatePerMillion: rate = 0 } = fieldsOf(config)
  if (kind !== 'TracingConfiguration' || !VERSIONS.some((known) => known === apiVersion)) {
    fault(`is no TracingConfiguration of ${VERSIONS.join(', ')}`)
  }
  for (const name of Object.keys(fieldsOf(config)))
    if (!FIELDS.has(name)) fault(`unknown field ${JSON.stringify(name)}`)
  if (typeof rate !== 'number' || !Number.isInteger(rate) || rate < 0 || rate > 1e6) {
    fault('samplingRatePerMillion must be a whole number from 0 to 1000000')
  }
  const url = typeof endpoint === 'string' ? collectorUrl(endpoint) : undefined
  if (url === undefined) fault(`endpoint: ${JSON.stringify(endpoint)} is no HOST:PORT`)
  return { endpoint: url ?? '', sampling: { ratio: Number(rate) / 1e6, parentBased: true } }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function fromEnvironment(env: Environment, flags: FlagReader): Endpoint | undefined {
  const name = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find(
    (key) => (env[key] ?? '') !== '',
  )
  if (name === undefined || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined
  if (env['OTEL_TRACES_EXPORTER'] === 'none') return undefined
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'grpc'
  if (protocol !== 'grpc') flags.faults.push(`OTEL_EXPORTER_OTLP_PROTOCOL: only grpc is spoken, not ${protocol}`)
  const endpoint = collectorUrl(env[name] ?? '')
  if (endpoint === undefined) flags.faults.push(`${name} is no URL of a collector`)
  return { endpoint: endpoint ?? '', sampling: samplingIn(env, flags) }
}

function samplingIn(env: Environment, flags: FlagReader): Sampling {
  const sampler = env['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on'
  const parentBased = sampler.startsWith('parentbased_')
  const argument = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1)
  switch (sampler.replace(/^parentbased_/, '')) {
    case 'always_on':
      return { ratio: 1, parentBased }
    case 'always_off':
      return { ratio: 0, parentBased }
    case 'traceidratio':
      if (!(argument >= 0 && argument <= 1)) flags.faults.push('OTEL_TRACES_SAMPLER_ARG must be between 0 and 1')
      return { ratio: argument, parentBased }
    default:
      flags.faults.push(`OTEL_TRACES_SAMPLER: ${sampler} is not known here`)
      return { ratio: 0, parentBased }
  }
}

/** Without a scheme it is plain, as a kube-apiserver's. */
function collectorUrl(text: string): string | undefined {
  const url = text.includes('://') ? text : `http://${text}`
  if (!URL.canParse(url)) return undefined
  const { protocol, host, username } = new URL(url)
  if (!/^https?:$/.test(protocol) || host === '' || username !== '') return undefined
  return `${protocol}//${host}`
}

/** `OTEL_RESOURCE_ATTRIBUTES` (`NAME=VALUE,…`, percent-encoded) and `OTEL_SERVICE_NAME`. */
function resourceOf(env: Environment, version: string): Readonly<Record<string, string>> {
  const resource: Record<string, string> = { 'service.name': 'fleetsearch', 'service.version': version }
  for (const pair of (env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',')) {
    const [name = '', value = ''] = pair.split('=').map((part) => part.trim())
    if (name !== '') resource[name] = decode(value)
  }
  const service = env['OTEL_SERVICE_NAME'] ?? ''
  if (service !== '') resource['service.name'] = service
  return resource
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Which requests are written to the audit log, and how much of them: `audit.k8s.io/v1` Policy files.
 * Source: apiserver pkg/audit/policy/{reader,checker}.go, pkg/apis/audit/{v1/types,validation/validation}.go.
 */
import { parse } from 'yaml'
import type { UserInfo } from '../../http/api-request.ts'
import type { RequestAttributes } from '../request-info.ts'

export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type Level = (typeof LEVELS)[number]

export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type Stage = (typeof STAGES)[number]

export interface AuditRule {
  readonly level: Level
  /** Stages for which nothing is written. */
  readonly omitStages: ReadonlySet<Stage>
  readonly omitManagedFields: boolean
}

export interface AuditPolicy {
  /** The first rule that matches; level None where none does. `user` is undefined for who could not be identified. */
  ruleFor(user: UserInfo | undefined, attributes: RequestAttributes): AuditRule
}

/** The policy cannot be used; `message` names every fault with its field, one a line. */
export class AuditPolicyError extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'AuditPolicyError'
  }
}

/** Reads YAML or JSON. Throws `AuditPolicyError`. Unknown fields are faults too: a rule that was misspelt must not vanish. */
export function parseAuditPolicy(text: string): AuditPolicy {
  let document: unknown
  try {
    document = parse(text)
  } catch (error) {
    throw new AuditPolicyError([`not YAML: ${(error as Error).message.split('\n', 1).join('')}`])
  }
  const faults: string[] = []
  const reader = new Reader(faults)
  const fields = reader.object(document, '', POLICY_FIELDS)
  if (fields['kind'] !== 'Policy') faults.push('kind: must be Policy')
  if (fields['apiVersion'] !== 'audit.k8s.io/v1') faults.push('apiVersion: must be audit.k8s.io/v1')
  const omitStages = reader.stages(fields['omitStages'], 'omitStages')
  const omitManagedFields = reader.bool(fields['omitManagedFields'], 'omitManagedFields') ?? false
  const rules = reader.list(fields['rules'], 'rules').map((rule, at) => reader.rule(rule, `rules[${at}]`))
  if (rules.length === 0) faults.push('rules: a policy without rules records nothing')
  if (faults.length > 0) throw new AuditPolicyError(faults)
  const nothing: AuditRule = { level: 'None', omitStages: new Set(omitStages), omitManagedFields }
  const compiled = rules.map((rule) => ({
    rule,
    outcome: {
      level: rule.level,
      omitStages: new Set([...omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }))
  return {
    ruleFor: (user, attributes) => compiled.find(({ rule }) => matches(rule, user, attributes))?.outcome ?? nothing,
  }
}

const POLICY_FIELDS = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields']
const RULE_FIELDS = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'resources',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
]
const RESOURCE_FIELDS = ['group', 'resources', 'resourceNames']

interface GroupResources {
  readonly group: string
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
}

interface Rule {
  readonly level: Level
  readonly users: readonly string[]
  readonly userGroups: readonly string[]
  readonly verbs: readonly string[]
  readonly resources: readonly GroupResources[]
  readonly namespaces: readonly string[]
  readonly nonResourceURLs: readonly string[]
  readonly omitStages: readonly Stage[]
  readonly omitManagedFields: boolean | undefined
}

type Fields = Readonly<Record<string, unknown>>

class Reader {
  readonly #faults: string[]

  constructor(faults: string[]) {
    this.#faults = faults
  }

  object(value: unknown, path: string, known: readonly string[]): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#faults.push(`${path === '' ? 'the policy' : path}: must be an object`)
      return {}
    }
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) this.#faults.push(`${path === '' ? '' : `${path}.`}${name}: unknown field`)
    }
    return value as Fields
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (value === undefined || value === null) return []
    if (Array.isArray(value)) return value
    this.#faults.push(`${path}: must be a list`)
    return []
  }

  texts(value: unknown, path: string): string[] {
    return this.list(value, path).flatMap((entry, at) => {
      if (typeof entry === 'string') return [entry]
      this.#faults.push(`${path}[${at}]: must be a text`)
      return []
    })
  }

  stages(value: unknown, path: string): Stage[] {
    return this.texts(value, path).filter((stage): stage is Stage => {
      if ((STAGES as readonly string[]).includes(stage)) return true
      this.#faults.push(`${path}: ${JSON.stringify(stage)} is none of ${STAGES.join(', ')}`)
      return false
    })
  }

  bool(value: unknown, path: string): boolean | undefined {
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'boolean') this.#faults.push(`${path}: must be true or false`)
    return value === true
  }

  rule(value: unknown, path: string): Rule {
    const fields = this.object(value, path, RULE_FIELDS)
    const level = LEVELS.find((candidate) => candidate === fields['level'])
    if (level === undefined) this.#faults.push(`${path}.level: must be one of ${LEVELS.join(', ')}`)
    const rule: Rule = {
      level: level ?? 'None',
      users: this.texts(fields['users'], `${path}.users`),
      userGroups: this.texts(fields['userGroups'], `${path}.userGroups`),
      verbs: this.texts(fields['verbs'], `${path}.verbs`),
      resources: this.list(fields['resources'], `${path}.resources`).map((entry, at) =>
        this.#resources(entry, `${path}.resources[${at}]`),
      ),
      namespaces: this.texts(fields['namespaces'], `${path}.namespaces`),
      nonResourceURLs: this.#urls(fields['nonResourceURLs'], `${path}.nonResourceURLs`),
      omitStages: this.stages(fields['omitStages'], `${path}.omitStages`),
      omitManagedFields: this.bool(fields['omitManagedFields'], `${path}.omitManagedFields`),
    }
    if (rule.nonResourceURLs.length > 0 && rule.resources.length + rule.namespaces.length > 0) {
      this.#faults.push(`${path}.nonResourceURLs: a rule is for resources or for other URLs, not for both`)
    }
    return rule
  }

  #resources(value: unknown, path: string): GroupResources {
    const fields = this.object(value, path, RESOURCE_FIELDS)
    const group = fields['group'] ?? ''
    if (typeof group !== 'string' || /[/A-Z]/.test(group)) {
      this.#faults.push(`${path}.group: must be an API group, without a version`)
    }
    const resources = this.texts(fields['resources'], `${path}.resources`)
    const resourceNames = this.texts(fields['resourceNames'], `${path}.resourceNames`)
    if (resourceNames.length > 0 && resources.length === 0) {
      this.#faults.push(`${path}.resourceNames: needs at least one entry in resources`)
    }
    return { group: String(group), resources, resourceNames }
  }

  #urls(value: unknown, path: string): string[] {
    const urls = this.texts(value, path)
    urls.forEach((url, at) => {
      if (url === '*') return
      if (!url.startsWith('/')) this.#faults.push(`${path}[${at}]: must begin with a slash`)
      if (url.slice(0, -1).includes('*')) this.#faults.push(`${path}[${at}]: * may stand at the end only`)
    })
    return urls
  }
}

function matches(rule: Rule, user: UserInfo | undefined, attributes: RequestAttributes): boolean {
  const { users, userGroups, verbs } = rule
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false
  if (userGroups.length > 0 && !(user?.groups ?? []).some((group) => userGroups.includes(group))) return false
  if (verbs.length > 0 && !verbs.includes(attributes.verb)) return false
  if (rule.resources.length > 0 || rule.namespaces.length > 0) return matchesResource(rule, attributes)
  if (rule.nonResourceURLs.length > 0) return matchesUrl(rule, attributes)
  return true
}

function matchesUrl({ nonResourceURLs }: Rule, attributes: RequestAttributes): boolean {
  if (attributes.isResource) return false
  return nonResourceURLs.some(
    (url) => url === attributes.path || (url.endsWith('*') && attributes.path.startsWith(url.slice(0, -1))),
  )
}

function matchesResource({ namespaces, resources }: Rule, attributes: RequestAttributes): boolean {
  if (!attributes.isResource) return false
  if (namespaces.length > 0 && !namespaces.includes(attributes.namespace ?? '')) return false
  if (resources.length === 0) return true
  const { group, resource, subresource, name } = attributes
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some((entry) => {
    if (entry.group !== group && entry.group !== '*') return false
    if (entry.resources.length === 0) return true
    if (entry.resourceNames.length > 0 && !entry.resourceNames.includes(name)) return false
    return entry.resources.some(
      (pattern) =>
        pattern === '*' ||
        pattern === whole ||
        pattern === `${resource}/*` ||
        (subresource !== '' && pattern === `*/${subresource}`),
    )
  })
}

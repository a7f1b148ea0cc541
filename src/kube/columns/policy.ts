/** Who may do what, how much at once, and how pods give way to each other. */
import type { Cell, JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, count, nameColumn } from './define.ts'
import { intOrString } from './format.ts'
import { at, condition, flag, has, integer, items, optionalInteger, optionalText, text } from './read.ts'

export const podDisruptionBudget: KindColumns = {
  columns: [
    nameColumn,
    column('Min Available', (budget) => intOrString(at(budget, 'spec', 'minAvailable')) ?? 'N/A', {
      description: 'Pods that must stay.',
    }),
    column('Max Unavailable', (budget) => intOrString(at(budget, 'spec', 'maxUnavailable')) ?? 'N/A', {
      description: 'Pods that may be missing.',
    }),
    count('Allowed Disruptions', (budget) => integer(budget, 'status', 'disruptionsAllowed'), {
      description: 'Pods that may be evicted now.',
    }),
    ageColumn,
  ],
}

const subjects = (kind: string, print: (subject: JsonObject) => string) => (binding: JsonObject) =>
  items(binding, 'subjects')
    .filter((subject) => subject['kind'] === kind)
    .map(print)
    .join(', ')
const subjectName = (subject: JsonObject): string => text(subject, 'name')

/** RoleBindings and ClusterRoleBindings. */
export const roleBinding: KindColumns = {
  columns: [
    nameColumn,
    column('Role', (binding) => `${text(binding, 'roleRef', 'kind')}/${text(binding, 'roleRef', 'name')}`, {
      description: 'The role it gives.',
    }),
    ageColumn,
    column('Users', subjects('User', subjectName), { description: 'Users it gives it to.', wide: true }),
    column('Groups', subjects('Group', subjectName), { description: 'Groups it gives it to.', wide: true }),
    column(
      'ServiceAccounts',
      subjects('ServiceAccount', (s) => `${text(s, 'namespace')}/${text(s, 'name')}`),
      {
        description: 'Service accounts it gives it to.',
        wide: true,
      },
    ),
  ],
}

export const priorityClass: KindColumns = {
  columns: [
    nameColumn,
    count('Value', (object) => integer(object, 'value'), { description: 'The priority; higher goes first.' }),
    column('Global-Default', (object) => flag(object, 'globalDefault'), {
      description: 'Whether pods without a class are of this one.',
      tableType: 'boolean',
      type: 'bool',
    }),
    ageColumn,
    column('PreemptionPolicy', (object) => text(object, 'preemptionPolicy'), {
      description: 'Whether its pods push out others.',
    }),
  ],
}

export const flowSchema: KindColumns = {
  columns: [
    nameColumn,
    column('PriorityLevel', (schema) => text(schema, 'spec', 'priorityLevelConfiguration', 'name'), {
      description: 'The level that its requests are queued at.',
    }),
    count('MatchingPrecedence', (schema) => integer(schema, 'spec', 'matchingPrecedence'), {
      description: 'The lowest that matches a request takes it.',
      tableType: 'string',
    }),
    column(
      'DistinguisherMethod',
      (schema) =>
        has(schema, 'spec', 'distinguisherMethod') ? text(schema, 'spec', 'distinguisherMethod', 'type') : '<none>',
      { description: 'What tells its flows apart.' },
    ),
    ageColumn,
    column('MissingPL', (schema) => missingLevel(schema), { description: 'Whether the level does not exist.' }),
  ],
}

const limitColumn = (name: string, path: readonly string[], description: string) =>
  column(name, (level): Cell => optionalInteger(level, 'spec', 'limited', ...path) ?? '<none>', {
    description,
    type: 'int',
    value: (level) => optionalInteger(level, 'spec', 'limited', ...path),
  })
const QUEUING = ['limitResponse', 'queuing']

export const priorityLevel: KindColumns = {
  columns: [
    nameColumn,
    column('Type', (level) => text(level, 'spec', 'type'), { description: 'Exempt or Limited.' }),
    limitColumn('NominalConcurrencyShares', ['nominalConcurrencyShares'], 'Its part of what the server does at once.'),
    limitColumn('Queues', [...QUEUING, 'queues'], 'How many queues it has.'),
    limitColumn('HandSize', [...QUEUING, 'handSize'], 'Among how many queues a flow is spread.'),
    limitColumn('QueueLengthLimit', [...QUEUING, 'queueLengthLimit'], 'How many requests a queue holds.'),
    ageColumn,
  ],
}

function missingLevel(schema: JsonObject): string {
  return optionalText(condition(items(schema, 'status', 'conditions'), 'Dangling'), 'status') ?? '?'
}

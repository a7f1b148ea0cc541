/** Events, of the core group and of events.k8s.io, which names the same fields differently. */
import type { JsonObject, KindColumns } from './column.ts'
import { age, column, count, extra, NAME_DESCRIPTION } from './define.ts'
import { at, has, integer, isObject, optionalText, text } from './read.ts'

export const event: KindColumns = {
  columns: [
    age('Last Seen', lastSeen, { description: 'Time since it happened last.' }),
    column('Type', (event) => text(event, 'type'), { description: 'Normal or Warning.' }),
    column('Reason', (event) => text(event, 'reason'), { description: 'What happened, in one word.' }),
    column('Object', target, { description: 'What it happened to.' }),
    column('Subobject', (event) => text(involved(event), 'fieldPath'), {
      description: 'Which part of the object it happened to.',
      wide: true,
    }),
    column('Source', source, { description: 'Who reports it, and from where.', wide: true }),
    column('Message', (event) => (text(event, 'message') || text(event, 'note')).trim(), {
      description: 'What happened, in words.',
      type: 'text',
    }),
    age('First Seen', firstSeen, { description: 'Time since it happened first.', wide: true }),
    count('Count', occurrences, { description: 'How often it happened.', tableType: 'string', wide: true }),
    column('Name', (event) => text(event, 'metadata', 'name'), {
      description: NAME_DESCRIPTION,
      format: 'name',
      wide: true,
    }),
  ],
  extra: [
    extra('objectkind', 'keyword', (event) => optionalText(involved(event), 'kind')),
    extra('objectname', 'keyword', (event) => optionalText(involved(event), 'name')),
    extra('objectnamespace', 'keyword', (event) => optionalText(involved(event), 'namespace')),
  ],
}

function involved(event: JsonObject): unknown {
  const core = at(event, 'involvedObject')
  return isObject(core) ? core : at(event, 'regarding')
}

function firstSeen(event: JsonObject): string | undefined {
  return (
    optionalText(event, 'firstTimestamp') ??
    optionalText(event, 'deprecatedFirstTimestamp') ??
    optionalText(event, 'eventTime')
  )
}

function lastSeen(event: JsonObject): string | undefined {
  if (has(event, 'series')) return optionalText(event, 'series', 'lastObservedTime')
  return optionalText(event, 'lastTimestamp') ?? optionalText(event, 'deprecatedLastTimestamp') ?? firstSeen(event)
}

/** An event of the new API has no count before it is repeated. */
function occurrences(event: JsonObject): number {
  if (has(event, 'series')) return integer(event, 'series', 'count')
  return integer(event, 'count') || integer(event, 'deprecatedCount') || 1
}

function target(event: JsonObject): string {
  const kind = text(involved(event), 'kind').toLowerCase()
  const name = text(involved(event), 'name')
  return name === '' ? kind : `${kind}/${name}`
}

function source(event: JsonObject): string {
  const either = (key: string): string => text(event, 'source', key) || text(event, 'deprecatedSource', key)
  const component = either('component') || text(event, 'reportingComponent') || text(event, 'reportingController')
  const host = either('host') || text(event, 'reportingInstance')
  return host === '' ? component : `${component}, ${host}`
}

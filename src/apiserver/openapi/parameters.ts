/** Parameters of our operations. What a kube-apiserver takes and we do not (shardSelector) is not among them. */
import type { Parameter } from './model.ts'

const query = (name: string, type: Parameter['type'], text: string): Parameter => ({ name, in: 'query', type, text })

export const NAME: Parameter = { name: 'name', in: 'path', type: 'string', text: 'name of the ResourceRegistry' }

export const PATH: Parameter = { name: 'path', in: 'path', type: 'string', text: 'path as in a single cluster' }

export const PRETTY = query('pretty', 'string', 'Accepted; answers are on one line.')

const SELECTING = [
  query('continue', 'string', 'The continue token of the page before.'),
  query('fieldSelector', 'string', 'Objects with these values of fields alone, e.g. metadata.name=all.'),
  query('labelSelector', 'string', 'Objects with these labels alone.'),
  query('limit', 'integer', 'How many objects a page has at most. Default: all.'),
  query(
    'resourceVersion',
    'string',
    'The version that the answer is to be of, or newer; of a watch: where it goes on.',
  ),
  query('resourceVersionMatch', 'string', 'How resourceVersion counts in a list: NotOlderThan or Exact.'),
  query(
    'sendInitialEvents',
    'boolean',
    'Whether a watch begins with the objects that are there, and a bookmark behind them.',
  ),
  query('timeoutSeconds', 'integer', 'Seconds after which the call ends.'),
]

export const WATCHING = byName([
  ...SELECTING,
  query('allowWatchBookmarks', 'boolean', 'Whether a watch may send bookmarks: versions without an object.'),
  query('watch', 'boolean', 'Whether changes are sent as they happen, instead of a list.'),
])

const DRY_RUN = query('dryRun', 'string', 'All: everything is checked, nothing is stored.')

export const WRITING = [
  DRY_RUN,
  query('fieldManager', 'string', 'Who the fields belong to that are changed: 128 printable characters at most.'),
  query('fieldValidation', 'string', 'What unknown or repeated fields lead to: Ignore, Warn or Strict. Default: Warn.'),
]

export const PATCHING = [
  ...WRITING,
  query('force', 'boolean', 'Whether server-side apply takes over fields that belong to others.'),
]

export const DELETING = [
  DRY_RUN,
  query('gracePeriodSeconds', 'integer', 'Accepted; a registry goes at once, or when its finalizers are done.'),
  query('orphanDependents', 'boolean', 'Outdated; see propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of objects that it owns: Orphan, Background or Foreground.'),
]

export const DELETING_MANY = byName([...SELECTING, ...DELETING])

function byName(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

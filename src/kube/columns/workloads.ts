/** Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers and their revisions. */
import { parseApiVersion } from '../group-version.ts'
import type { JsonObject, KindColumns } from './column.ts'
import {
  ageColumn,
  column,
  containerColumns,
  count,
  extra,
  labelMapColumn,
  nameColumn,
  selectorColumn,
} from './define.ts'
import { selectorText } from './format.ts'
import { at, flag, integer, items, text } from './read.ts'

const podSpec = (object: JsonObject): unknown => at(object, 'spec', 'template', 'spec')
const selector = (object: JsonObject): unknown => at(object, 'spec', 'selector')

const desired = (object: JsonObject): number => integer(object, 'spec', 'replicas')
const ready = (object: JsonObject): number => integer(object, 'status', 'readyReplicas')

const READY = { description: 'Pods that are ready, of all that should be.' }

/** Numbers behind `Ready`, so that queries can compare them. */
const replicaFields = [
  extra('replicas', 'int', desired),
  extra('readyreplicas', 'int', ready),
  extra('unavailable', 'int', (object) => Math.max(0, desired(object) - ready(object))),
]

export const deployment: KindColumns = {
  columns: [
    nameColumn,
    column('Ready', (object) => `${String(ready(object))}/${String(desired(object))}`, READY),
    count('Up-to-date', (object) => integer(object, 'status', 'updatedReplicas'), {
      description: 'Pods made from the current template.',
      tableType: 'string',
    }),
    count('Available', (object) => integer(object, 'status', 'availableReplicas'), {
      description: 'Pods that have been ready for long enough.',
      tableType: 'string',
    }),
    ageColumn,
    ...containerColumns(podSpec),
    column('Selector', (object) => selectorText(selector(object)) ?? '<invalid>', {
      description: 'Which pods belong to it.',
      wide: true,
    }),
  ],
  extra: [...replicaFields, extra('paused', 'bool', (object) => flag(object, 'spec', 'paused'))],
}

export const statefulSet: KindColumns = {
  columns: [
    nameColumn,
    column('Ready', (object) => `${String(ready(object))}/${String(desired(object))}`, READY),
    ageColumn,
    ...containerColumns(podSpec),
  ],
  extra: replicaFields,
}

export const daemonSet: KindColumns = {
  columns: [
    nameColumn,
    count('Desired', (object) => integer(object, 'status', 'desiredNumberScheduled'), {
      description: 'Nodes that should run its pod.',
    }),
    count('Current', (object) => integer(object, 'status', 'currentNumberScheduled'), {
      description: 'Nodes that should run its pod and do.',
    }),
    count('Ready', (object) => integer(object, 'status', 'numberReady'), { description: 'Nodes whose pod is ready.' }),
    count('Up-to-date', (object) => integer(object, 'status', 'updatedNumberScheduled'), {
      description: 'Nodes whose pod was made from the current template.',
    }),
    count('Available', (object) => integer(object, 'status', 'numberAvailable'), {
      description: 'Nodes whose pod has been ready for long enough.',
    }),
    labelMapColumn('Node Selector', ['spec', 'template', 'spec', 'nodeSelector'], {
      description: 'Labels of the nodes it runs on.',
    }),
    ageColumn,
    ...containerColumns(podSpec),
    selectorColumn(selector),
  ],
  extra: [
    extra('unavailable', 'int', (object) =>
      Math.max(0, integer(object, 'status', 'desiredNumberScheduled') - integer(object, 'status', 'numberReady')),
    ),
  ],
}

const replicaCounts = [
  count('Desired', desired, { description: 'Pods it should have.' }),
  count('Current', (object) => integer(object, 'status', 'replicas'), { description: 'Pods it has.' }),
  count('Ready', ready, { description: 'Pods that are ready.' }),
]

export const replicaSet: KindColumns = {
  columns: [nameColumn, ...replicaCounts, ageColumn, ...containerColumns(podSpec), selectorColumn(selector)],
}

export const replicationController: KindColumns = {
  columns: [
    nameColumn,
    ...replicaCounts,
    ageColumn,
    ...containerColumns(podSpec),
    labelMapColumn('Selector', ['spec', 'selector'], { description: 'Labels of its pods.', wide: true }),
  ],
}

export const controllerRevision: KindColumns = {
  columns: [
    nameColumn,
    column('Controller', controllerOf, { description: 'Which object it is a revision of.' }),
    count('Revision', (object) => integer(object, 'revision'), {
      description: 'Number of the revision.',
      tableType: 'string',
    }),
    ageColumn,
  ],
}

function controllerOf(object: JsonObject): string {
  const owner = items(object, 'metadata', 'ownerReferences').find((reference) => reference['controller'] === true)
  if (owner === undefined) return '<none>'
  const group = parseApiVersion(text(owner, 'apiVersion'))?.group ?? ''
  const kind = text(owner, 'kind')
  return `${(group === '' ? kind : `${kind}.${group}`).toLowerCase()}/${text(owner, 'name')}`
}

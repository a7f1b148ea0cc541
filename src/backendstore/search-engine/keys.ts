/** What names a document, its shard and its place in the order. */
import { createHash } from 'node:crypto'
import type { GroupResource } from '../../kube/group-version.ts'
import type { ObjectName, ShardIdentity } from '../backend-store.ts'
import { SEPARATOR } from './term-marks.ts'

/** Between the parts of a key: lower than any character of a name, so that keys stand in the order of their parts. */
export const KEY_SEPARATOR = '\u0001'

/** Engines take ids of up to so many bytes. */
const MAX_ID_BYTES = 512

/** As ties are broken by it. */
export function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`
}

export function shardKey(shard: Pick<ShardIdentity, 'cluster' | 'group' | 'resource'>): string {
  return `${shard.cluster}${SEPARATOR}${resourceName(shard)}`
}

export function splitShardKey(key: string): { cluster: string; group: string; resource: string } {
  const [cluster = '', name = ''] = key.split(SEPARATOR)
  return { cluster, ...splitResourceName(name) }
}

/** The id of an object's document: the object's name, so that whatever comes under it replaces it. */
export function documentId(change: ShardIdentity & ObjectName): string {
  const { cluster, namespace, name } = change
  const id = `${cluster}/${resourceName(change)}/${namespace}/${name}`
  return Buffer.byteLength(id) <= MAX_ID_BYTES ? id : createHash('sha256').update(id).digest('hex')
}

export interface Tie extends ObjectName, GroupResource {
  readonly cluster: string
  readonly uid: string
}

/** What breaks ties, as one key. */
export function tieOf(tie: Tie): string {
  const { cluster, namespace, name, uid } = tie
  return [cluster, namespace, name, uid, resourceName(tie)].join(KEY_SEPARATOR)
}

export function splitTie(key: string): Tie {
  const [cluster = '', namespace = '', name = '', uid = '', resource = ''] = key.split(KEY_SEPARATOR)
  return { cluster, namespace, name, uid, ...splitResourceName(resource) }
}

function splitResourceName(name: string): GroupResource {
  const slash = name.indexOf('/')
  return { group: name.slice(0, slash), resource: name.slice(slash + 1) }
}

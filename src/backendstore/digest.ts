/** Shards in two numbers, so that a store which has all of a shard is found out by one question. */
import { crc32 } from 'node:zlib'
import type { ManifestEntry, ShardDigest } from './backend-store.ts'

/** 32 bits that a store keeps with each document; sums of them stay exact in a double up to two million documents. */
export function entryHash({ namespace, name, uid, resourceVersion }: ManifestEntry): number {
  return crc32(`${namespace}/${name}\n${uid}\n${resourceVersion}`)
}

export async function digestOf(manifest: AsyncIterable<readonly ManifestEntry[]>): Promise<ShardDigest> {
  let objects = 0
  let hashSum = 0
  for await (const entries of manifest) {
    objects += entries.length
    for (const entry of entries) hashSum += entryHash(entry)
  }
  return { objects, hashSum }
}

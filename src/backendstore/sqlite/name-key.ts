/**
 * A name of a shard as a number of 48 bits, for the index of names: a third of the bytes of the name itself, so that a batch
 * of names from everywhere changes a third of the pages. The namespace comes first: lists arrive namespace by namespace.
 * Names may share a key; whoever looks one up compares them.
 */
import { crc32 } from 'node:zlib'

const NAMESPACE_BITS = 20
const NAME_BITS = 28

export function nameKey(namespace: string, name: string): number {
  return (crc32(namespace) >>> (32 - NAMESPACE_BITS)) * 2 ** NAME_BITS + (crc32(name) >>> (32 - NAME_BITS))
}

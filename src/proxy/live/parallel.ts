/** Requests to members that may be under way for one answer at the same time. */
export const PARALLEL_MEMBERS = 16

/** Maps in parallel, at most `limit` at once; results in the order of `items`. The first rejection rejects. */
export async function mapParallel<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const worker = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await map(items[i] as T)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}

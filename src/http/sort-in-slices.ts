/** Objects compared between two turns of the event loop: 2,048 comparisons of keys take about a millisecond. */
const SLICE = 2_048

/** A stable sort that lets everything else run in between; `items` is not changed. */
export async function sortInSlices<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = []
  for (let i = 0; i < items.length; i += SLICE) {
    runs.push(items.slice(i, i + SLICE).sort(compare))
    await turn()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let i = 0; i < runs.length; i += 2) merged.push(await merge(runs[i] ?? [], runs[i + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    merged.push(compare(a[i] as T, b[j] as T) <= 0 ? (a[i++] as T) : (b[j++] as T))
    if (merged.length % SLICE === 0) await turn()
  }
  return merged.concat(a.slice(i), b.slice(j))
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

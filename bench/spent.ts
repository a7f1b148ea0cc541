/** Time by the clock and of the processor that some of what a bench does took, and how its requests overlap. */

export class Spent {
  ms = 0
  #cpuMs = 0

  on<Result>(work: () => Result): Result {
    const end = this.#begin()
    const result = work()
    end()
    return result
  }

  async onAsync(work: () => Promise<void>): Promise<void> {
    const end = this.#begin()
    await work()
    end()
  }

  told(objects: number): string {
    return `${((objects / this.ms) * 1_000).toFixed(0)} objects/s, ${((this.#cpuMs / objects) * 1_000).toFixed(0)} µs CPU each`
  }

  #begin(): () => void {
    const [started, before] = [performance.now(), process.cpuUsage()]
    return () => {
      const { user, system } = process.cpuUsage(before)
      this.ms += performance.now() - started
      this.#cpuMs += (user + system) / 1_000
    }
  }
}

/** The next begins when one of those under way has ended. */
export async function inFlight<Item>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: most }, worker))
}

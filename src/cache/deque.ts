/** A queue whose elements keep their absolute position: the first ever pushed is 0, the next 1, … */
export class Deque<T> {
  #items: (T | undefined)[] = []
  #gone = 0
  #head = 0

  /** Position of the oldest element, or of the next one to be pushed where there is none. */
  get start(): number {
    return this.#gone + this.#head
  }

  /** Position of the next element to be pushed. */
  get end(): number {
    return this.#gone + this.#items.length
  }

  get length(): number {
    return this.#items.length - this.#head
  }

  at(position: number): T | undefined {
    return this.#items[position - this.#gone]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head += 1
    if (this.#head >= 64 && 2 * this.#head > this.#items.length) this.#trim()
    return item
  }

  clear(): void {
    this.#gone = this.end
    this.#head = 0
    this.#items = []
  }

  #trim(): void {
    this.#items = this.#items.slice(this.#head)
    this.#gone += this.#head
    this.#head = 0
  }
}

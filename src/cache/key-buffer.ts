/** The bytes of an object's key, `namespace/name` or `name`, in a buffer that is used again for the next key. */
export class KeyBuffer {
  bytes = Buffer.allocUnsafeSlow(512)
  length = 0
  /** Bytes of the namespace, 0 without one. */
  namespaceLength = 0

  set(namespace: string, name: string): this {
    this.#reserve(3 * (namespace.length + name.length) + 1)
    this.namespaceLength = this.bytes.write(namespace, 0)
    const nameStart = this.namespaceLength === 0 ? 0 : this.namespaceLength + 1
    if (nameStart > 0) this.bytes[this.namespaceLength] = SLASH
    this.length = nameStart + this.bytes.write(name, nameStart)
    return this
  }

  /** A key as `ObjectKey` has it, or any other text to search for. */
  setText(text: string): this {
    this.#reserve(3 * text.length)
    this.namespaceLength = 0
    this.length = this.bytes.write(text, 0)
    return this
  }

  #reserve(length: number): void {
    if (this.bytes.length < length) this.bytes = Buffer.allocUnsafeSlow(2 * length)
  }
}

const SLASH = 0x2f

/**
 * Numbers in the order of sort keys: where two numbers differ, their keys differ the same way; where they are equal, the
 * keys have to be looked at. `MISSING` is last.
 */
import { NUMBER, numberOfKey, TIME } from '../../../query/sortable.ts'

export const MISSING = Infinity

const PREFIX_BYTES = 6

/** Of a text's first six bytes of UTF-8. */
export function coarseText(text: string): number {
  let value = 0
  for (let i = 0; i < PREFIX_BYTES; i++) {
    const c = i < text.length ? text.charCodeAt(i) : 0
    if (c > 0x7f) return coarseBytes(text)
    value = value * 256 + c
  }
  return value
}

function coarseBytes(text: string): number {
  const bytes = Buffer.from(text.slice(0, PREFIX_BYTES), 'utf8')
  let value = 0
  for (let i = 0; i < PREFIX_BYTES; i++) value = value * 256 + (bytes[i] ?? 0)
  return value
}

/** Keys are only compared where this says the same of both. */
export function sortOfKey(key: string): 'number' | 'time' | 'text' {
  if (key.includes('\u0001')) return 'text'
  return key.startsWith(NUMBER) ? 'number' : key.startsWith(TIME) ? 'time' : 'text'
}

export function coarseKey(key: string): number {
  switch (sortOfKey(key)) {
    case 'number':
      return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(numberOfKey(key.slice(1)))))
    case 'time':
      return Number(key.slice(1, 15))
    case 'text':
      return coarseText(key)
  }
}

/**
 * What a document holds of a value of a field, a label or an annotation: terms, sort key, words. Each remembers what it
 * made of the last values it saw; most objects have the states, images, nodes and labels of their neighbours.
 */
import type { ColumnType } from '../kube/columns/column.ts'
import { textMemo } from '../util/text-memo.ts'
import {
  IP,
  NUMBER,
  sortableIp,
  sortableNumber,
  sortableText,
  sortableTime,
  sortableVersion,
  TIME,
  VERSION,
  type SortableMark,
} from './sortable.ts'
import { keyedPath, type PathSpelling } from './term.ts'
import { piecedLines, quantityLines, textLines, wordLines } from './term-text.ts'
import { exactValue } from './tokens.ts'

export interface FieldText {
  /** In the form of `exactValue`. */
  readonly value: string
  /** One on each line. */
  readonly terms: string
  readonly sortKey: string
  /** Whether it is of the field's type, which is more than text. */
  readonly typed: boolean
  /** For the free text, one on each line; empty where the field is not part of it. */
  readonly words: string
}

export interface TypedField {
  readonly path: string
  /** What is not of the field's type is taken as text. */
  of(text: string): FieldText
}

export interface KeyedText {
  readonly terms: string
  readonly words: string
}

/** Of the fields of all kinds, and of keys of labels and annotations: 4 KB each, and their values (`text-memo.ts`). */
const MAX_FIELDS = 256
const MAX_KEYS = 128

/** Fields whose values are found by free text, too. */
const IN_FREE_TEXT: ReadonlySet<string> = new Set(['image', 'node', 'ip', 'owner'])

/** A longer annotation is data; only its key stands in the free text. */
const MAX_ANNOTATION_WORDS = 1_024

/** For documents whose terms spell their paths in one way. */
export class FieldTexts {
  readonly spell: PathSpelling
  readonly #fields = new Map<string, TypedField>()
  readonly #piecedFields = new Map<string, (text: string) => string>()
  readonly #labels = new Map<string, (value: string) => KeyedText>()
  readonly #annotations = new Map<string, (value: string) => KeyedText>()

  constructor(spell: PathSpelling) {
    this.spell = spell
  }

  field(path: string, type: ColumnType): TypedField {
    return remembered(this.#fields, `${type} ${path}`, MAX_FIELDS, () => {
      const spelled = this.spell(path)
      return { path, of: textMemo((text) => fieldText(path, spelled, type, text)) }
    })
  }

  /** The terms of a field of identity. */
  pieced(path: string, text: string): string {
    const of = remembered(this.#piecedFields, path, MAX_FIELDS, () => {
      const spelled = this.spell(path)
      return textMemo((value: string) => piecedLines(spelled, exactValue(value)))
    })
    return of(text)
  }

  label(key: string, value: string): KeyedText {
    const of = remembered(this.#labels, key, MAX_KEYS, () => {
      const path = this.spell(keyedPath('label', key))
      return textMemo((text: string) => ({
        terms: piecedLines(path, exactValue(text)),
        words: wordLines(`${key}=${text}`),
      }))
    })
    return of(value)
  }

  annotation(key: string, value: string): KeyedText {
    const of = remembered(this.#annotations, key, MAX_KEYS, () => {
      const path = this.spell(keyedPath('annotation', key))
      return textMemo((text: string) => ({
        terms: textLines(path, text),
        words: wordLines(text.length > MAX_ANNOTATION_WORDS ? key : `${key}=${text}`),
      }))
    })
    return of(value)
  }
}

function remembered<Value>(known: Map<string, Value>, key: string, max: number, make: () => Value): Value {
  let found = known.get(key)
  if (found === undefined) {
    if (known.size >= max) known.clear()
    known.set(key, (found = make()))
  }
  return found
}

function fieldText(path: string, spelled: string, type: ColumnType, text: string): FieldText {
  const value = exactValue(text)
  const found = typedKey(type, value)
  return {
    value,
    terms: fieldTerms(spelled, type, value, found),
    sortKey: found === undefined ? sortableText(value) : found.mark + found.key,
    typed: found !== undefined,
    words: IN_FREE_TEXT.has(path) ? wordLines(text) : '',
  }
}

function fieldTerms(path: string, type: ColumnType, value: string, found: TypedKey | undefined): string {
  if (type === 'quantity') return quantityLines(path, value)
  if (found === undefined) return piecedLines(path, value)
  const key = path + found.mark + found.key
  if (found.mark === VERSION) return `${piecedLines(path, value)}\n${key}`
  return found.mark === IP ? `${path}=${value}\n${key}` : key
}

interface TypedKey {
  readonly mark: SortableMark
  readonly key: string
}

/** How a value of a typed field sorts and compares; undefined for text, and for a value that is not of the type. */
function typedKey(type: ColumnType, value: string): TypedKey | undefined {
  const marked = (mark: SortableMark, key: string | undefined) => (key === undefined ? undefined : { mark, key })
  switch (type) {
    case 'int':
    case 'quantity':
    case 'duration':
      return marked(NUMBER, sortableNumber(value))
    case 'time':
      return marked(TIME, sortableTime(value))
    case 'version':
      return marked(VERSION, sortableVersion(value))
    case 'ip':
      return marked(IP, sortableIp(value))
    case 'keyword':
    case 'text':
    case 'bool':
      return undefined
  }
}

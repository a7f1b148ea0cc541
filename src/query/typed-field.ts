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
import { keyedPath } from './term.ts'
import { piecedTerms, quantityTerms, textTerms, type TermForm } from './term-form.ts'
import { exactValue } from './tokens.ts'
import { wordLines } from './word-text.ts'

export interface FieldText<Part> {
  /** In the form of `exactValue`. */
  readonly value: string
  readonly terms: Part
  readonly sortKey: string
  /** Whether it is of the field's type, which is more than text. */
  readonly typed: boolean
  /** For the free text, one on each line; empty where the field is not part of it. */
  readonly words: string
}

export interface TypedField<Part> {
  readonly path: string
  /** What is not of the field's type is taken as text. */
  of(text: string): FieldText<Part>
}

export interface KeyedText<Part> {
  readonly terms: Part
  readonly words: string
}

/** Of the fields of all kinds, and of keys of labels and annotations: 4 KB each, and their values (`text-memo.ts`). */
const MAX_FIELDS = 256
const MAX_KEYS = 128

/** Fields whose values are found by free text, too. */
const IN_FREE_TEXT: ReadonlySet<string> = new Set(['image', 'node', 'ip', 'owner'])

/** A longer annotation is data; only its key stands in the free text. */
const MAX_ANNOTATION_WORDS = 1_024

/** For documents whose terms are of one form. */
export class FieldTexts<Part> {
  readonly #form: TermForm<Part, unknown>
  readonly #fields = new Map<string, TypedField<Part>>()
  readonly #piecedFields = new Map<string, (text: string) => Part>()
  readonly #labels = new Map<string, (value: string) => KeyedText<Part>>()
  readonly #annotations = new Map<string, (value: string) => KeyedText<Part>>()

  constructor(form: TermForm<Part, unknown>) {
    this.#form = form
  }

  field(path: string, type: ColumnType): TypedField<Part> {
    return remembered(this.#fields, `${type} ${path}`, MAX_FIELDS, () => {
      const terms = this.#form.of(path)
      return { path, of: textMemo((text) => fieldText({ path, type, terms }, text)) }
    })
  }

  /** The terms of a field of identity. */
  pieced(path: string, text: string): Part {
    const of = remembered(this.#piecedFields, path, MAX_FIELDS, () => {
      const terms = this.#form.of(path)
      return textMemo((value: string) => terms(piecedTerms(exactValue(value))))
    })
    return of(text)
  }

  label(key: string, value: string): KeyedText<Part> {
    const of = remembered(this.#labels, key, MAX_KEYS, () => {
      const terms = this.#form.of(keyedPath('label', key))
      return textMemo((text: string) => ({
        terms: terms(piecedTerms(exactValue(text))),
        words: wordLines(`${key}=${text}`),
      }))
    })
    return of(value)
  }

  annotation(key: string, value: string): KeyedText<Part> {
    const of = remembered(this.#annotations, key, MAX_KEYS, () => {
      const terms = this.#form.of(keyedPath('annotation', key))
      return textMemo((text: string) => ({
        terms: terms(textTerms(text)),
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

interface FieldForm<Part> {
  readonly path: string
  readonly type: ColumnType
  readonly terms: (terms: readonly string[]) => Part
}

function fieldText<Part>({ path, type, terms }: FieldForm<Part>, text: string): FieldText<Part> {
  const value = exactValue(text)
  const found = typedKey(type, value)
  return {
    value,
    terms: terms(fieldTerms(type, value, found)),
    sortKey: found === undefined ? sortableText(value) : found.mark + found.key,
    typed: found !== undefined,
    words: IN_FREE_TEXT.has(path) ? wordLines(text) : '',
  }
}

function fieldTerms(type: ColumnType, value: string, found: TypedKey | undefined): readonly string[] {
  if (type === 'quantity') return quantityTerms(value)
  if (found === undefined) return piecedTerms(value)
  const key = found.mark + found.key
  if (found.mark === VERSION) return [...piecedTerms(value), key]
  return found.mark === IP ? [`=${value}`, key] : [key]
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

/** Terms one on each line, their paths as they are: for who looks through a document himself. */
import { NUMBER, TIME } from './sortable.ts'
import { ALL_TERM, spelledOut } from './term.ts'
import { numberKey, textKey, type TermForm, type TermSheet } from './term-form.ts'
import { exactValue } from './tokens.ts'

export const TERM_LINES: TermForm<string, string> = {
  spell: spelledOut,
  of(path) {
    const spelled = spelledOut(path)
    return (terms) => terms.map((term) => spelled + term).join('\n')
  },
  sheet: () => new LineSheet(),
}

class LineSheet implements TermSheet<string, string> {
  readonly #lines: string[] = [ALL_TERM]

  add(lines: string): void {
    this.#lines.push(lines)
  }

  text(spelled: string, text: string): void {
    this.add(textLines(spelled, text))
  }

  number(spelled: string, text: string): void {
    const key = numberKey(text)
    this.add(key === '' ? `${spelled}=${text}` : spelled + NUMBER + key)
  }

  boolean(spelled: string, text: string): void {
    this.add(`${spelled}=${text}`)
  }

  empty(spelled: string): void {
    this.add(`${spelled}+`)
  }

  finish(): string {
    return this.#lines.join('\n')
  }
}

function textLines(spelled: string, text: string): string {
  const value = exactValue(text)
  const key = textKey(value)
  if (key === '') return `${spelled}=${value}`
  return key.startsWith(TIME) ? spelled + key : `${spelled}=${value}\n${spelled}${key}`
}

/** Terms one on each line, their paths spelled in front: the quickest form to make, to send and to look through. */
import { NUMBER, TIME } from './sortable.ts'
import { ALL_TERM, spelledOut, type PathSpelling } from './term.ts'
import { numberKey, textKey, type TermForm, type TermSheet } from './term-form.ts'
import { exactValue } from './tokens.ts'

/** `spell`: its answers are kept. */
export function termLines(spell: PathSpelling): TermForm<string, string> {
  return {
    spell,
    of(path) {
      const spelled = spell(path)
      return (terms) => terms.map((term) => spelled + term).join('\n')
    },
    sheet: () => new LineSheet(),
  }
}

/** With paths as they are. */
export const TERM_LINES = termLines(spelledOut)

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

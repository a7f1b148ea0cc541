/**
 * How terms and words go into FTS5: as documents have them, one on a line. Its built-in `ascii` tokenizer, told that every
 * ASCII character but the line feed is part of a token, leaves them whole; it folds A–Z, so capitals carry a mark in front.
 */

/** Between tokens; never inside one (`exactValue`). */
export const TOKEN_SEPARATOR = '\n'

/** In front of what FTS5 is going to fold. */
export const CAPITAL_MARK = '\u0002'

/** The `tokenize` option of the table. */
export function tokenizeOption(): string {
  const tokenCharacters = Array.from({ length: 127 }, (_, i) => String.fromCharCode(i + 1))
    .filter((c) => c !== TOKEN_SEPARATOR && !/[A-Za-z0-9]/.test(c))
    .join('')
  const option = `ascii tokenchars '${tokenCharacters.replaceAll("'", "''")}'`
  return `"${option.replaceAll('"', '""')}"`
}

/** Terms, joined or single. */
export function encodeTerms(terms: string): string {
  return terms.replace(/[A-Z]/g, `${CAPITAL_MARK}$&`)
}

/** A term, or the beginning of one, as it stands in the vocabulary: folded, as FTS5 does it to what it is given. */
export function encodeToken(term: string): string {
  return encodeTerms(term).replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Where what begins so ends: beginnings end in characters that have a successor. */
export function after(prefix: string): string {
  const last = prefix.length - 1
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)
}

export function decodeTerm(token: string): string {
  return token.replace(/\u0002(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** A string of the FTS5 query language. */
export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

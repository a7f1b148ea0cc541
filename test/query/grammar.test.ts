/** The documented grammar and examples are those of the parser. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { QueryNode } from '../../src/query/ast.ts'
import { GRAMMAR, parseQuery } from '../../src/query/parser.ts'
import { resolveQuery } from '../../src/query/resolve.ts'
import { FAKE_EPOCH_MS } from '../support/fake-clock.ts'
import { allFields as fields } from '../support/search.ts'

const DOCUMENT = readFileSync(new URL('../../docs/query-language.md', import.meta.url), 'utf8')
const parse = (text: string): QueryNode => parseQuery(text, (name) => fields.find(name) !== undefined)

function hintsOf(node: QueryNode): string[] {
  if (node.type === 'and' || node.type === 'or') return node.children.flatMap(hintsOf)
  if (node.type === 'not') return hintsOf(node.child)
  return node.hint === undefined ? [] : [node.hint]
}

test('the document has the grammar of the parser', () => {
  assert.ok(DOCUMENT.includes(`\`\`\`ebnf\n${GRAMMAR}\`\`\``))
})

const TERMINALS: Readonly<Record<string, readonly string[]>> = {
  space: [' ', '  ', '\t'],
  field: ['name', 'label.app', 'spec.replicas', 'ns'],
  word: ['web', 'nginx:1.25', 'a/b', '7d', 'check*', '10.0.0.1', '1'],
  quoted: ['"a b"', '""', '"say \\"x\\""'],
}

type Rule = fc.Arbitrary<string>

/** Texts that the grammar allows: `,` in a row, `|` one of, `[]` perhaps, `{}` any number. */
function grammarArbitrary(): Rule {
  const { query } = fc.letrec<Record<string, string>>((tie) => {
    const terminals = Object.entries(TERMINALS).map(([name, texts]) => [name, fc.constantFrom(...texts)] as const)
    const rules = GRAMMAR.trim()
      .split(';\n')
      .map((line) => {
        const [, name = '', body = ''] = /^(\w+)\s*= ([^]*?)\s*;?$/.exec(line) ?? []
        return [name, new GrammarReader(body.match(/"[^"]*"|\w+|[,|[\]{}]/g) ?? [], tie).read()] as const
      })
    return Object.fromEntries([...terminals, ...rules])
  })
  return query as Rule
}

class GrammarReader {
  readonly #tokens: string[]
  readonly #tie: (name: string) => Rule

  constructor(tokens: readonly string[], tie: (name: string) => Rule) {
    this.#tokens = [...tokens]
    this.#tie = tie
  }

  read(): Rule {
    const choices = [this.#row()]
    while (this.#take('|')) choices.push(this.#row())
    return fc.oneof({ maxDepth: 4, depthIdentifier: 'grammar' }, ...choices.toReversed())
  }

  #row(): Rule {
    const parts = [this.#one()]
    while (this.#take(',')) parts.push(this.#one())
    return fc.tuple(...parts).map((texts) => texts.join(''))
  }

  #one(): Rule {
    const token = this.#tokens.shift() ?? ''
    if (token === '[') return this.#closed(fc.option(this.read(), { nil: '' }))
    if (token === '{') return this.#closed(fc.array(this.read(), { maxLength: 2 }).map((texts) => texts.join('')))
    return token.startsWith('"') ? fc.constant(token.slice(1, -1)) : this.#tie(token)
  }

  #closed(rule: Rule): Rule {
    this.#tokens.shift()
    return rule
  }

  #take(token: string): boolean {
    if (this.#tokens[0] !== token) return false
    this.#tokens.shift()
    return true
  }
}

test('whatever the grammar allows is read as syntax', () => {
  fc.assert(
    fc.property(grammarArbitrary(), (text) => {
      assert.deepEqual(hintsOf(parse(text)), [], text)
    }),
    { numRuns: 1_000 },
  )
})

test('every documented example can be asked, and means no less than it says', () => {
  const block = /```query\n([^]*?)```/.exec(DOCUMENT)?.[1] ?? ''
  const examples = block.split('\n').filter((line) => line !== '')
  assert.ok(examples.length >= 20)
  for (const line of examples) {
    const [text = ''] = line.split('  # ')
    const { warnings } = resolveQuery(parse(text.trim()), { fields, nowMs: FAKE_EPOCH_MS })
    assert.deepEqual(warnings, [], text)
  }
})

import { readFileSync } from 'node:fs'
import path from 'node:path'
import tseslint from 'typescript-eslint'

const rooms = JSON.parse(readFileSync(new URL('rooms.json', import.meta.url), 'utf8'))
const source = path.join(import.meta.dirname, 'src') + path.sep

/** The room of a file under src/: its first folder, or the file's own name for those that stand in src/ itself. */
function roomOf(file) {
  if (!file.startsWith(source)) return undefined
  return file.slice(source.length).split(path.sep)[0]
}

/** Import directions: rooms.json says which room may import which. */
const importDirection = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { direction: 'Room {{from}} may not import room {{to}} (rooms.json).' },
  },
  create(context) {
    const from = roomOf(context.filename)
    if (from === undefined) return {}
    const allowed = rooms[from] ?? []
    const check = (node) => {
      const specifier = node.source?.value
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return
      const to = roomOf(path.resolve(path.dirname(context.filename), specifier))
      if (to === undefined || to === from || allowed.includes('*') || allowed.includes(to)) return
      context.report({ node, messageId: 'direction', data: { from, to } })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    }
  },
}

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'test/fixtures/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommended],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { house: { rules: { 'import-direction': importDirection } } },
    rules: {
      'house/import-direction': 'error',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            {
              from: 'package',
              name: ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach'],
              package: 'node:test',
            },
          ],
        },
      ],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // Time and chance are injected, so that tests need no sleeps (CONTRIBUTING.md, "Time").
    files: ['src/**/*.ts'],
    ignores: ['src/util/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Inject a clock (src/util/clock.ts).' },
        { object: 'Math', property: 'random', message: 'Inject randomness (src/util/clock.ts).' },
      ],
      'no-console': 'error',
    },
  },
)

#!/usr/bin/env node
// Starts Fleetsearch from a package (dist/) or a checkout (src/, run as TypeScript by a current Node).
// The project brings its own Node (optionalDependencies of package.json); npm scripts find it first.
import { existsSync } from 'node:fs'

const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `fleetsearch needs Node 24 or newer, this is ${process.version}. ` +
      'Start it through npm ("npm start", "npm run fleetsearch -- COMMAND"), which uses the Node that "npm ci" installed; ' +
      'if that one is missing, run "npm ci" again without --omit=optional.\n',
  )
  process.exit(1)
}
const built = new URL('../dist/main.js', import.meta.url)
const source = new URL('../src/main.ts', import.meta.url)
await import(existsSync(source) ? source.href : built.href)

/** The process: argv, environment and signals in, exit code out. Everything else is `app/`. */
import { main } from './app/main.ts'

const stop = new AbortController()
let signals = 0

function onSignal(name: NodeJS.Signals): void {
  signals += 1
  // The second signal does not wait for what is still open.
  if (signals > 1) process.exit(1)
  stop.abort(new Error(name))
}

process.on('SIGTERM', onSignal)
process.on('SIGINT', onSignal)
// A reader of our output that goes away (`| head`) is no fault of ours.
process.stdout.on('error', () => undefined)

process.exitCode = await main(process.argv.slice(2), process.env, stop.signal)

/** The process: argv, environment and signals in, exit code out. Everything else is `app/`. */
import { main } from './app/main.ts'
import { watchParent } from './app/parent-watch.ts'
import { StopWish } from './app/stop-wish.ts'

const wish = new StopWish(() => process.exit(1))

process.on('SIGTERM', (name) => wish.stop(name))
process.on('SIGINT', (name) => wish.stop(name))
// The terminal is closed. Without one (nohup) it is not ours to end.
if (process.stdout.isTTY || process.stderr.isTTY) process.on('SIGHUP', (name) => wish.stop(name))
// A reader of our output that goes away (`| head`) is no fault of ours.
process.stdout.on('error', () => undefined)
if (process.env['npm_lifecycle_event'] !== undefined) watchParent({ onGone: () => wish.stop('npm is gone') })

process.exitCode = await main(process.argv.slice(2), process.env, wish.signal)

/**
 * Ends the program with the npm that started it. npm passes SIGTERM and SIGINT on to the shell that it runs a script in, and a
 * shell that waits for a command dies of SIGTERM without passing it on: the program would be left behind and hold its port.
 * Source: @npmcli/run-script lib/signal-manager.js.
 */
import { readFileSync } from 'node:fs'
import { systemClock, type Clock } from '../util/clock.ts'

export interface ParentWatchOptions {
  readonly clock?: Clock
  /** Called once, when a process above is gone. */
  readonly onGone: () => void
  /** The parent of this process now. Default: asks the system. */
  readonly parent?: () => number
  /** The parent of a shell that is our parent; undefined: it cannot be told, or our parent is no shell. */
  readonly parentOfShell?: (pid: number) => number | undefined
}

const EVERY_MS = 250

/** Returns how to stop. What runs on without a terminal (`nohup npm start &`) still has its npm. */
export function watchParent({
  clock = systemClock,
  onGone,
  parent = () => process.ppid,
  parentOfShell = procParentOfShell,
}: ParentWatchOptions): () => void {
  const shell = parent()
  const npm = parentOfShell(shell)
  let cancel = (): void => undefined
  const look = (): void => {
    // Who loses his parent gets another; that is how its end shows, whatever takes its number.
    if (parent() !== shell || (npm !== undefined && parentOfShell(shell) !== npm)) onGone()
    else cancel = clock.setTimeout(look, EVERY_MS)
  }
  look()
  return () => {
    cancel()
  }
}

/** By Linux' /proc; elsewhere a shell that npm starts is replaced by its command, which then is npm's own child. */
function procParentOfShell(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // `PID (COMMAND) STATE PPID …`: the command may hold anything, parentheses too.
    const [, command = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? []
    return /^[a-z]*sh$/.test(command) ? Number(rest.split(' ')[1]) : undefined
  } catch {
    return undefined
  }
}

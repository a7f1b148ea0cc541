/** What somebody at a terminal reads first: where it listens, and three commands that answer as they are printed. */
import { styleText } from 'node:util'
import { SEARCH_GROUP_VERSION } from '../api/resource-registry.ts'

export interface Welcome {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  /** Whose clusters these are, in one line. */
  readonly what: string
}

type Paint = (style: 'bold' | 'cyan' | 'dim', text: string) => string

/** Colours where standard output shows them, and nobody has said NO_COLOR. */
const paintForOutput: Paint = (style, text) => styleText(style, text, { stream: process.stdout })

export function welcome({ url, what }: Welcome, paint: Paint = paintForOutput): string {
  const base = `${url}/apis/${SEARCH_GROUP_VERSION}`
  const csv = `curl -s -H 'Accept: text/csv'`
  const examples = [
    [
      'Which pods restart, and where? The most restarted first:',
      `${csv} '${base}/search/query?q=kind:Pod%20restarts>0&sort=-restarts&limit=10&fields=cluster,namespace,name,restarts'`,
    ],
    ['How many pods run in each cluster?', `${csv} '${base}/search/aggregate?q=kind:Pod&by=cluster,phase'`],
    [
      'kubectl against all clusters as if they were one:',
      `kubectl --server '${base}/proxying/karmada;clusterColumn/proxy' get pods -A`,
    ],
  ] as const
  const lines = examples.flatMap(([question, command]) => [paint('dim', question), `  ${command}`, ''])
  return [
    '',
    `${paint('bold', 'Fleetsearch')} listens on ${paint('cyan', url)}`,
    what,
    '',
    'Ask it from another terminal (Ctrl-C ends it here).',
    '',
    ...lines,
  ].join('\n')
}

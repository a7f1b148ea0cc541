/** The usual size of what the platform team runs. */
import type { App } from './app.ts'

type Defaults = Pick<App, 'team' | 'cpu' | 'memory' | 'kind' | 'replicas'>

export const small: Defaults = {
  team: 'platform',
  kind: 'Deployment',
  replicas: 1,
  cpu: ['50m', undefined],
  memory: ['64Mi', '256Mi'],
}
export const agent: Defaults = { ...small, kind: 'DaemonSet' }

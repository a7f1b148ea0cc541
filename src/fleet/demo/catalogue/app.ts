/** One application of the simulated company: what a team would have in its Helm values. */

export type ClusterRole = 'production' | 'staging' | 'edge'

export interface Sidecar {
  readonly name: string
  readonly image: string
  readonly port?: number
  /** Runs as a native sidecar (an init container that restarts). */
  readonly native?: boolean
}

/** How one pod of an application fails. `roles` narrows it to clusters of that role. */
export interface Sickness {
  readonly kind:
    | 'crashLoop'
    | 'initCrashLoop'
    | 'imagePull'
    | 'unschedulable'
    | 'oomKilled'
    | 'evicted'
    | 'stuckTerminating'
    | 'notReady'
    | 'configError'
    | 'restarted'
  /** How many of its pods; default 1. */
  readonly pods?: number
  readonly clusters: readonly string[]
}

export interface App {
  readonly name: string
  readonly namespace: string
  readonly team: string
  readonly component: string
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'
  readonly image: string
  readonly tag: string
  /** In a cluster of size 1; grows with the cluster unless `fixed`. */
  readonly replicas: number
  readonly fixed?: boolean
  readonly roles?: readonly ClusterRole[]
  /** Requests and limits: cpu, memory. */
  readonly cpu: readonly [string, string | undefined]
  readonly memory: readonly [string, string]
  readonly port?: number
  readonly health?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Files of its ConfigMap, mounted at /etc/<name>. */
  readonly config?: Readonly<Record<string, string>>
  /** Keys of its Secret, taken into the environment. */
  readonly secret?: readonly string[]
  readonly sidecars?: readonly Sidecar[]
  readonly init?: { readonly name: string; readonly command: readonly string[] }
  readonly host?: string
  readonly service?: 'ClusterIP' | 'LoadBalancer' | 'Headless' | 'None'
  readonly autoscale?: { readonly max: number; readonly cpuPercent: number }
  /** Size of its volume claim (StatefulSets: one for each pod). */
  readonly volume?: string
  readonly nodePool?: string
  readonly gpu?: boolean
  readonly priority?: 'system-node-critical' | 'system-cluster-critical' | 'business-critical'
  readonly hostNetwork?: boolean
  readonly sick?: readonly Sickness[]
}

export interface ScheduledJob {
  readonly name: string
  readonly namespace: string
  readonly team: string
  readonly schedule: string
  /** Minutes between two runs, what `schedule` says in words. */
  readonly everyMinutes: number
  readonly image: string
  readonly tag: string
  /** Where in `everyMinutes` it is due, counted from the epoch. */
  readonly offsetMinutes?: number
  readonly command: readonly string[]
  readonly runsSeconds: number
  readonly cpu: readonly [string, string | undefined]
  readonly memory: readonly [string, string]
  readonly roles?: readonly ClusterRole[]
  readonly suspended?: boolean
  /** The last run failed in these clusters. */
  readonly fails?: readonly string[]
}

/** What the demo fleet's thread and the main thread tell each other. */
export interface DemoWorkerData {
  readonly seed: number
  /** Names from the catalogue. */
  readonly clusters: readonly string[]
}

export interface DemoListening {
  readonly type: 'listening'
  readonly name: string
  readonly uid: string
  /** `http://127.0.0.1:PORT` */
  readonly url: string
}

/**
 * One declarative column of a kind: the same definition prints the Table cell, sorts, filters and facets. A kind's
 * columns live in one file of this folder (`pod.ts`, `deployment.ts`, …); `index.ts` finds them by group and kind.
 */

/** A parsed object. Columns must survive any shape: members may send anything under any key. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * What a column's value is, for comparing and sorting: `keyword` exact text, `text` words, `int` a safe integer,
 * `quantity` a Kubernetes quantity, `time` RFC 3339, `duration` seconds, `version` v1.9 < v1.10, `ip`, `bool`.
 */
export type ColumnType = 'keyword' | 'text' | 'int' | 'quantity' | 'time' | 'duration' | 'version' | 'ip' | 'bool'

/** A typed value; undefined where the object has none (unset is neither empty nor false). Quantities and times as text. */
export type ColumnValue = string | number | boolean | undefined

/** A Table's cell. Integers of custom resources beyond 2^53 are bigints. */
export type Cell = string | number | boolean | bigint | null

export interface Column {
  /** Header of the Table, as a kube-apiserver prints it: `Ready`, `Nominated Node`. */
  readonly name: string
  /** Name in queries, lower case without spaces: `restarts`, `node`. */
  readonly field: string
  readonly type: ColumnType
  /** How the Table declares it; `definition.priority` 0 shows always, 1 with `-o wide`. */
  readonly definition: {
    readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
    readonly format: string
    readonly description: string
    readonly priority: number
  }
  /** Of a custom resource's column: where its value stands, as its definition writes it. */
  readonly jsonPath?: string
  /** The Table's cell, exactly as a kube-apiserver prints it. `nowMs` is the wall clock, for ages. */
  cell(object: JsonObject, nowMs: number): Cell
  /** The value queries compare. */
  value(object: JsonObject): ColumnValue
}

export interface KindColumns {
  readonly columns: readonly Column[]
  /** Typed fields that queries know and the Table does not show (e.g. a pod's image). */
  readonly extra?: readonly ExtraField[]
  /** Integers beyond 2^53 may occur in cells: parse objects with `parseExact`. Default false: built-in kinds have none. */
  readonly exactIntegers?: boolean
  /** What a Table's row says about the object beside its cells; undefined where there is nothing to say. */
  rowConditions?(object: JsonObject): readonly RowCondition[] | undefined
}

export type ExtraField = Pick<Column, 'field' | 'type' | 'value'>

/** `metav1.TableRowCondition`. */
export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

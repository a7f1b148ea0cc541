/** What a member has been found to serve, by whichever form of discovery it speaks. */
export interface DiscoveredResource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** This version is the one the member prefers of its group. */
  readonly preferred: boolean
  readonly kind: string
  /** Plural, as in paths. */
  readonly resource: string
  /** Empty where the member does not say. */
  readonly singular: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** Names alone: `status`, `scale`, `log`. */
  readonly subresources: readonly string[]
  /** Subresources are offered for reading alone. Never said by a member. */
  readonly readOnly?: true
}

/** One of the two roots, `/api` and `/apis`, as fetched. */
export interface DiscoveryPart {
  readonly resources: readonly DiscoveredResource[]
  readonly failedGroups: readonly string[]
  readonly etag: string | undefined
}

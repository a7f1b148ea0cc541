/** A reporter for `node --test` that writes the totals of a run as one JSON line: `{"passed":…,"failed":…,"skipped":…}`. */
interface TestEvent {
  readonly type: string
  readonly data: { readonly file?: string; readonly counts?: Readonly<Record<string, number>> }
}

export default async function* countReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    // The summary of the whole run names no file; the others are those of each file.
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue
    const counts = event.data.counts ?? {}
    const passed = counts['passed'] ?? 0
    const skipped = (counts['skipped'] ?? 0) + (counts['todo'] ?? 0)
    const failed = (counts['failed'] ?? 0) + (counts['cancelled'] ?? 0)
    yield `${JSON.stringify({ passed, failed, skipped })}\n`
  }
}

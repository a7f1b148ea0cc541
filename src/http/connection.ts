/** Whether a client is still there, and how to drop it, over HTTP/1.1 and over HTTP/2 (whose responses say it elsewhere). */
import type { ServerResponse } from 'node:http'

interface Http2Response {
  readonly stream?: { readonly destroyed: boolean; destroy(): void }
}

export function isGone(response: ServerResponse): boolean {
  const { stream } = response as Http2Response
  return stream === undefined ? response.destroyed : stream.destroyed
}

/** Breaks the answer off, so that nobody takes it for a whole one. */
export function cutOff(response: ServerResponse): void {
  const { stream } = response as Http2Response
  if (stream === undefined) response.destroy()
  else stream.destroy()
}

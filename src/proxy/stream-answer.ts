/** Hands an answer of another server on, piece by piece as it comes. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { MemberResponse } from '../fleet/member.ts'
import { drained } from '../http/body-writer.ts'
import { cutOff, isGone } from '../http/connection.ts'

/** `headers`: those of the answer that are the client's. Where its body breaks off, so does the client's. */
export async function streamAnswer(
  response: ServerResponse,
  { status, body }: Pick<MemberResponse, 'status' | 'body'>,
  headers: OutgoingHttpHeaders,
): Promise<void> {
  response.writeHead(status, headers)
  response.flushHeaders()
  try {
    for await (const chunk of body) {
      if (isGone(response)) return
      if (!response.write(chunk)) await drained(response, response)
    }
    response.end()
  } catch (error) {
    if (isGone(response)) return
    cutOff(response) // half an answer must not look like a whole one
    throw error
  }
}

/** Plain HTTPS requests of a test against a server with a CA of its own. */
import { Agent, request as send } from 'undici'

export interface TestRequest {
  /** Default GET, or POST where there is a body. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** An object is sent as JSON, a string or bytes as they are. */
  readonly body?: unknown
  /** A bearer token in place of the client's default; '' sends none. */
  readonly token?: string
  readonly signal?: AbortSignal
}

export interface TestResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  readonly text: string
  // Tests look into answers of any shape.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  json(): any
}

export interface TestClient {
  request(path: string, options?: TestRequest): Promise<TestResponse>
  /** As `request`, and rejects for a status of 400 and above. Resolves to the parsed body. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  ok(path: string, options?: TestRequest): Promise<any>
  close(): Promise<void>
}

export interface TestClientOptions {
  readonly url: string
  readonly caPem?: string
  readonly token?: string
  readonly certPem?: string
  readonly keyPem?: string
  /** Over HTTP/2 undici joins the values of a header that has several. Default true. */
  readonly http2?: boolean
}

export function createTestClient(options: TestClientOptions): TestClient {
  const { url, caPem, token, certPem, keyPem, http2 = true } = options
  const tls = {
    ...(caPem === undefined ? {} : { ca: caPem }),
    ...(certPem === undefined || keyPem === undefined ? {} : { cert: certPem, key: keyPem }),
  }
  const agent = new Agent({ connect: tls, allowH2: http2, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const request = async (path: string, options: TestRequest = {}): Promise<TestResponse> => {
    const { body, contentType } = encode(options.body)
    const bearer = options.token ?? token ?? ''
    const response = await send(url + path, {
      dispatcher: agent,
      method: options.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(bearer === '' ? {} : { authorization: `Bearer ${bearer}` }),
        ...options.headers,
      },
      body: body ?? null,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const bytes = Buffer.from(await response.body.arrayBuffer())
    const text = bytes.toString('utf8')
    return {
      status: response.statusCode,
      headers: response.headers,
      bytes,
      text,
      json: () => JSON.parse(text) as unknown,
    }
  }
  return {
    request,
    async ok(path, options) {
      const response = await request(path, options)
      if (response.status >= 400)
        throw new Error(`${options?.method ?? ''} ${path}: ${response.status} ${response.text}`)
      return response.json()
    },
    close: () => agent.destroy(),
  }
}

function encode(body: unknown): { body: string | Uint8Array | undefined; contentType: string | undefined } {
  if (body === undefined) return { body: undefined, contentType: undefined }
  if (typeof body === 'string' || body instanceof Uint8Array) return { body, contentType: undefined }
  return { body: JSON.stringify(body), contentType: 'application/json' }
}

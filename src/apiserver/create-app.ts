/**
 * The express app of HTTP/1.1: the place for middleware that needs express. What it does not answer goes on to our own
 * plain paths, which HTTP/2 reaches directly, since express does not run there. Never listens.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Express } from 'express'
import type { ApiHandler } from '../http/api-request.ts'

/** The subset of express that is called. */
export type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

export function createApp(): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', false)
  return app
}

/** The app first, over HTTP/1.1; then `plainPaths`. */
export function mountApp(app: App, plainPaths: ApiHandler): ApiHandler {
  return async (request, response) => {
    if (request.incoming.httpVersionMajor !== 1 || !(await answeredBy(app, request.incoming, response))) {
      await plainPaths(request, response)
    }
  }
}

/** Whether the app answered; rejects with what its middleware failed of. */
function answeredBy(app: App, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  return new Promise((resolve, reject) => {
    response.once('close', () => {
      resolve(true)
    })
    app(request, response, (error) => {
      if (error === undefined || error === null) resolve(false)
      else reject(error as Error)
    })
  })
}

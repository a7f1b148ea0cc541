/** How the simulated retailer builds its services: the templates its teams start from. */
import type { App, Sidecar } from './app.ts'

export const REGISTRY = 'registry.aurora.example'

export const ENVOY: Sidecar = { name: 'envoy', image: 'docker.io/envoyproxy/envoy:v1.36.2', port: 15001, native: true }
export const NGINX: Sidecar = { name: 'nginx', image: 'docker.io/library/nginx:1.29.3-alpine', port: 8443 }

type Service = Omit<App, 'component' | 'kind' | 'cpu' | 'memory' | 'image'> & Partial<App>

/** A stateless service: the usual size, port and health path of the company's template. */
export function service(app: Service): App {
  return {
    component: 'api',
    kind: 'Deployment',
    image: `${REGISTRY}/${app.namespace}/${app.name}`,
    cpu: ['200m', '1'],
    memory: ['256Mi', '512Mi'],
    port: 8080,
    health: '/healthz',
    env: { LOG_LEVEL: 'info', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel-collector.monitoring:4317' },
    ...app,
  }
}

type Database = Omit<App, 'component' | 'kind' | 'cpu' | 'memory' | 'image' | 'tag' | 'port'> & Partial<App>

export function postgres(app: Database): App {
  return {
    component: 'database',
    kind: 'StatefulSet',
    image: 'ghcr.io/cloudnative-pg/postgresql',
    tag: '18.1',
    cpu: ['500m', '2'],
    memory: ['2Gi', '4Gi'],
    port: 5432,
    fixed: true,
    volume: '100Gi',
    nodePool: 'data',
    service: 'Headless',
    secret: ['POSTGRES_USER', 'POSTGRES_PASSWORD'],
    config: { 'postgresql.conf': "max_connections = 200\nshared_buffers = '512MB'\nwal_level = logical\n" },
    priority: 'business-critical',
    ...app,
  }
}

export function redis(app: Database): App {
  return {
    component: 'cache',
    kind: 'StatefulSet',
    image: 'docker.io/library/redis',
    tag: '8.2.3-alpine',
    cpu: ['100m', '500m'],
    memory: ['512Mi', '1Gi'],
    port: 6379,
    fixed: true,
    volume: '10Gi',
    service: 'Headless',
    ...app,
  }
}

export const NOT_EDGE = ['production', 'staging'] as const

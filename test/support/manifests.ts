/** Objects as a client would post them. */

export function podManifest(
  name: string,
  options: { nodeName?: string; labels?: Record<string, string>; namespace?: string } = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: options.namespace ?? 'default', labels: { app: 'web', ...options.labels } },
    spec: {
      ...(options.nodeName === undefined ? {} : { nodeName: options.nodeName }),
      containers: [
        { name: 'app', image: 'registry.example/nginx:1.29', resources: { requests: { cpu: '100m', memory: '64Mi' } } },
      ],
    },
  }
}

/** How etcd and kube-apiserver are started for tests. */
import type { Pki } from './pki.ts'

export function etcdFlags(options: { folder: string; url: string; peerUrl: string }): string[] {
  return [
    `--data-dir=${options.folder}`,
    `--listen-client-urls=${options.url}`,
    `--advertise-client-urls=${options.url}`,
    `--listen-peer-urls=${options.peerUrl}`,
    `--initial-advertise-peer-urls=${options.peerUrl}`,
    `--initial-cluster=default=${options.peerUrl}`,
    // A test's data need not survive a power cut; a single member need not wait long to elect itself.
    '--unsafe-no-fsync',
    '--heartbeat-interval=20',
    '--election-timeout=200',
    '--log-level=warn',
  ]
}

export function apiServerFlags(options: { port: number; etcdUrl: string; pki: Pki }): string[] {
  const { pki } = options
  return [
    `--etcd-servers=${options.etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${String(options.port)}`,
    `--tls-cert-file=${pki.file('apiserver.crt')}`,
    `--tls-private-key-file=${pki.file('apiserver.key')}`,
    `--client-ca-file=${pki.file('ca.crt')}`,
    `--token-auth-file=${pki.file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki.file('sa.pub')}`,
    `--service-account-signing-key-file=${pki.file('sa.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    // Nobody makes the tokens that this plugin waits for.
    '--disable-admission-plugins=ServiceAccount',
    '--endpoint-reconciler-type=none',
    '--kubelet-preferred-address-types=InternalIP',
    // The aggregation layer: what it shows to the servers behind it, and what it publishes for them to check it with
    // (ConfigMap kube-system/extension-apiserver-authentication).
    `--requestheader-client-ca-file=${pki.file('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-uid-headers=X-Remote-Uid',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.file('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${pki.file('front-proxy-client.key')}`,
  ]
}

/** kubectl commands whose outputs are the same through us and at a member (test/e2e/kubectl-matrix.test.ts). */

export interface KubectlCommand {
  /** Split at blanks; single quotes keep one argument together. */
  readonly text: string
  /** Through us, with the cluster chosen: about what every member has some of. Default: the whole fleet. */
  readonly one?: boolean
  /** kubectl itself prints its lines in any order. */
  readonly unordered?: boolean
  readonly input?: string
}

const read = (...texts: string[]): KubectlCommand[] => texts.map((text) => ({ text }))
const chosen = (...texts: string[]): KubectlCommand[] => texts.map((text) => ({ text, one: true }))

/** `get` in all its outputs. */
const GET = read(
  'get pods',
  'get po -o wide',
  'get pods -o json',
  'get pods -o yaml',
  'get pods -o name',
  "get pods -o 'jsonpath={.items[*].metadata.name}'",
  'get pods -o \'jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}\'',
  'get pods -o \'go-template={{range .items}}{{.metadata.name}} {{.status.phase}}{{"\\n"}}{{end}}\'',
  "get pods -o 'custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image,NODE:.spec.nodeName'",
  'get pods --no-headers',
  'get pods -A',
  'get pods -A -o wide',
  'get pods --show-labels',
  'get pods -L app,tier',
  'get pods --show-kind',
  'get pod b-sidecar',
  'get pod b-sidecar -o wide',
  'get pod b-sidecar -o json',
  'get pod b-sidecar -o yaml',
  'get pod b-sidecar -o yaml --show-managed-fields',
  'get pod b-sidecar -o name',
  "get pod b-sidecar -o 'jsonpath={.status.podIP}'",
  'get pod/b-sidecar pod/a-init-crash-loop',
  'get pod b-sidecar a-init-crash-loop -o yaml',
  'get pod nothing-of-that-name',
  'get pod nothing-of-that-name --ignore-not-found',
  'get pods -n nowhere',
  'get deployments',
  'get deploy -o wide',
  'get deploy web -o yaml',
  'get deployment.v1.apps web',
  'get deployments.apps',
  'get rs,sts,ds',
  'get deploy/web sts/db -o name',
  'get rc -o wide',
  'get jobs -o wide',
  'get cronjobs',
  'get hpa',
  'get hpa.v1.autoscaling',
  'get pdb',
  'get ingress',
  'get ingressclass',
  'get netpol',
  'get configmaps -o yaml',
  'get secrets',
  'get secret password -o yaml',
  'get sa',
  'get limits,quota -n shop',
  'get pv',
  'get pvc -o wide',
  'get sc',
  'get events',
  'get events -o wide',
  'get events.events.k8s.io',
  'get leases',
  'get roles,rolebindings',
  'get nodes',
  'get nodes -o wide',
  'get node node-1 -o yaml',
  'get crd',
  'get crd widgets.example.com -o json',
  'get widgets',
  'get widgets -o wide',
  'get widgets -o yaml',
  'get widget full -o json',
  'get plains',
  'get csidrivers,csinodes',
  'get validatingwebhookconfigurations',
  'get endpointslices',
  'get controllerrevisions',
  'get pods,deploy,cm',
  'get ns shop',
  'get ns shop -o yaml',
  'get nosuchkind',
  'get pods -o nosuchoutput',
)

const SELECT = read(
  'get pods --chunk-size=5',
  'get pods --chunk-size=1 -o name',
  'get pods --chunk-size=5 -o wide',
  'get pods --sort-by=.metadata.name',
  'get pods --sort-by=.metadata.creationTimestamp -o name',
  'get pods -l app=web',
  "get deploy -l 'app in (web,api)'",
  "get pods -l '!app' -o name",
  "get pods -l 'app=='",
  'get deploy,rs -l app=web --show-labels',
  'get pods --field-selector status.phase=Running',
  'get pods --field-selector status.phase!=Running,metadata.name=b-sidecar',
  'get pods --field-selector spec.nosuchfield=1',
  'get events --field-selector type=Warning',
  'get secrets --field-selector type=Opaque -o name',
  'get pods --field-selector metadata.name=b-sidecar -o yaml',
  'get --raw /api/v1/namespaces/default/pods?limit=nonsense',
  'get --raw /healthz',
  'get --raw /nothing/here',
)

const DESCRIBE = read(
  'describe pod b-sidecar',
  'describe pod a-init-crash-loop',
  'describe deploy web',
  'describe rs web-7d9',
  'describe sts db',
  'describe ds agent',
  'describe job complete',
  'describe cronjob nightly',
  'describe hpa mixed',
  'describe pdb percent',
  'describe ingress many-hosts',
  'describe netpol some',
  'describe sa robot',
  'describe pv bound',
  'describe pvc data',
  'describe sc',
  'describe node node-1',
  'describe ns shop',
  'describe quota -n shop',
  'describe widget full',
  'describe crd widgets.example.com',
  'describe role,rolebinding',
  'describe pods -l app=web',
  'describe pod nothing-of-that-name',
)

const REST = [
  ...read(
    'explain pod',
    'explain pod.spec.containers',
    'explain deployment.spec --recursive',
    'explain widget',
    'explain widget.spec',
    'explain pod.nothing',
    'explain ingress --api-version=networking.k8s.io/v1',
    'events',
    'events --for deploy/web',
    'events --types=Warning',
    'wait --for=condition=Ready pod/b-sidecar --timeout=2s',
    "wait '--for=jsonpath={.status.phase}=Running' pod/b-sidecar --timeout=2s",
    'wait --for=delete pod/nothing-of-that-name --timeout=2s',
    'wait --for=condition=Ready pod/a-init-crash-loop --timeout=1s',
    'rollout status deploy/expressions --timeout=1s',
    'rollout history deploy/web',
    'rollout history sts/db',
    'top pods',
    'top nodes',
    'auth whoami',
    'auth can-i list pods',
    'auth can-i delete deployments.apps -n shop',
    'cluster-info',
    'version',
    'get pods -w --request-timeout=2s',
    'get deploy --watch-only --request-timeout=1s',
    'get pods b-sidecar -w -o name --request-timeout=2s',
  ),
  ...chosen(
    'api-resources',
    'api-resources -o wide',
    'api-resources --namespaced=false -o name',
    'api-resources --api-group=apps',
    'api-versions',
    'get all',
    'get all -o name',
    'get svc',
    'get svc -o yaml',
    'describe svc cluster-ip',
    'get endpoints',
    'get namespaces',
    'get clusterroles -o name',
    'get clusterrole view -o yaml',
    'get clusterrolebindings -o wide',
    'get apiservices',
    // In a Table of theirs a real server sorts them by precedence; of many clusters, keys are in order.
    'get flowschemas --sort-by=.metadata.name',
    'get priorityclasses',
    'get servicecidrs',
    'auth can-i --list',
    'auth can-i list nodes',
    'get pods',
    'get pod b-sidecar -o json',
    'describe deploy web',
    'get pods --chunk-size=3 -o name',
  ),
]

const MANIFEST = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web, tier: front } }
spec:
  replicas: 4
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: nginx, image: 'nginx:1.30' }] }
`

/** Commands that would write, and are made to say what: they read what they would change, and its schema. */
const DRY = [
  ...read(
    'label pod b-sidecar team=shop --dry-run=client -o yaml',
    'label pods --all team=shop --dry-run=client',
    'annotate deploy web note=x --dry-run=client -o yaml',
    'scale deploy/web --replicas=7 --dry-run=client -o yaml',
    'set image deploy/web *=nginx:2 --dry-run=client -o yaml',
    'set env deploy/web A=b --dry-run=client -o yaml',
    'set resources deploy/web --limits=cpu=1 --dry-run=client -o yaml',
    'expose deploy web --port=80 --name=web2 --dry-run=client -o yaml',
    'autoscale deploy web --max=5 --dry-run=client -o yaml',
    'delete pod b-sidecar --dry-run=client',
    'delete deploy -l app=web --dry-run=client',
    'cordon node-1 --dry-run=client',
    'drain node-1 --dry-run=client --ignore-daemonsets --force',
    'taint node node-1 a=b:NoSchedule --dry-run=client -o yaml',
    'patch deploy web -p {"spec":{"replicas":9}} --dry-run=client -o yaml',
    'patch deploy web --type=merge -p {"spec":{"replicas":9}} --dry-run=client -o yaml',
    'patch deploy web --type=json -p [{"op":"replace","path":"/spec/replicas","value":9}] --dry-run=client -o yaml',
    'patch widget full --type=merge -p {"metadata":{"labels":{"a":"b"}}} --dry-run=client -o yaml',
    'create cm made --from-literal=a=b --dry-run=client -o yaml',
    'create deploy made --image=nginx --dry-run=client -o yaml',
    'run made --image=nginx --dry-run=client -o yaml',
    'delete nosuchkind x --dry-run=client',
    'scale deploy/none --replicas=1 --dry-run=client',
  ),
  { text: 'apply -f - --dry-run=client', input: MANIFEST },
  { text: 'apply -f - --dry-run=client -o yaml', input: MANIFEST },
  { text: 'replace -f - --dry-run=client', input: MANIFEST },
  { text: 'create -f - --dry-run=client -o name', input: MANIFEST },
  { text: 'delete -f - --dry-run=client', input: MANIFEST },
]

/** Commands that read. */
export const READS: readonly KubectlCommand[] = [
  { text: 'describe secret password', unordered: true },
  { text: 'describe cm settings', unordered: true },
  ...GET,
  ...SELECT,
  ...DESCRIBE,
  ...REST,
  ...DRY,
]

export function argumentsOf({ text }: KubectlCommand): string[] {
  return [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

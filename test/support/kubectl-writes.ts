/**
 * kubectl commands that change things, in their order: each finds what those before it left. Run once at a member and once
 * through us, from the same beginning, they print the same and leave the same (test/e2e/kubectl-matrix.test.ts). All are
 * about the namespace `writes`, which one member has, and its node `writes-1`.
 */
import type { KubectlCommand } from './kubectl-commands.ts'

const web = (image: string, more = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: writes, labels: { app: web } }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: nginx, image: '${image}'${more} }] }
`

const settings = (value: string): string => `
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: writes }
data: { mode: '${value}' }
`

const node = 'apiVersion: v1\nkind: Node\nmetadata: { name: writes-1 }\n'

/** With the cluster chosen: what is not there yet has no owner. */
const creates = (text: string, input?: string): KubectlCommand => ({
  text: `${text} -n writes`,
  one: true,
  ...(input === undefined ? {} : { input }),
})
const changes = (text: string, input?: string): KubectlCommand => ({
  text: `${text} -n writes`,
  ...(input === undefined ? {} : { input }),
})

/** As the controller of jobs would say it. */
const DONE =
  '{"status":{"startTime":"2026-11-30T00:00:00Z","completionTime":"2026-11-30T00:01:00Z","succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}'

/** As a controller would say it. */
const ROLLED_OUT =
  '{"status":{"observedGeneration":1000,"replicas":5,"updatedReplicas":5,"readyReplicas":5,"availableReplicas":5}}'

export const WRITES: readonly KubectlCommand[] = [
  creates('create -f -', web('nginx:1.29')),
  creates('create -f -', web('nginx:1.29')),
  creates('create configmap made --from-literal=a=1 --from-literal=b=2'),
  creates('create secret generic token --from-literal=value=s3cret'),
  creates('create serviceaccount builder'),
  creates('create role reader --verb=get,list --resource=pods'),
  creates('create rolebinding readers --role=reader --serviceaccount=writes:builder'),
  creates('create service clusterip plain --tcp=80:8080'),
  creates('create cronjob often --image=busybox --schedule=@hourly'),
  creates('run single --image=nginx --labels=app=single'),
  creates('apply -f -', settings('one')),
  creates('apply -f -', settings('one')),
  creates('apply -f -', node),
  changes('apply -f -', settings('two')),
  changes('diff -f -', settings('three')),
  changes('diff -f -', settings('two')),
  changes('apply --server-side -f -', settings('four')),
  changes('apply --server-side --force-conflicts -f -', settings('four')),
  changes('apply --server-side --field-manager=other -f -', settings('five')),
  changes('diff --server-side --force-conflicts -f -', settings('six')),
  changes('label configmap made team=shop'),
  changes('label configmap made team=other'),
  changes('label configmap made team=other --overwrite'),
  changes('label configmap made team-'),
  changes('label configmaps --all tier=back'),
  changes('annotate configmap made note=first'),
  changes('annotate configmap made note=second --overwrite'),
  changes('annotate configmap made note-'),
  changes('edit configmap made'),
  changes('edit deployment web'),
  changes('patch configmap made --type=merge -p {"data":{"c":"3"}}'),
  changes('patch configmap made --type=json -p [{"op":"add","path":"/data/d","value":"4"}]'),
  changes('patch configmap made --type=json -p [{"op":"test","path":"/data/d","value":"5"}]'),
  changes('patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'),
  changes('patch deployment web --type=strategic -p {"spec":{"revisionHistoryLimit":3}}'),
  changes('patch deployment web --subresource=status --type=merge -p {"status":{"observedGeneration":1}}'),
  changes('patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":3}}'),
  changes('scale deployment web --replicas=4'),
  changes('scale deployment web --replicas=5 --current-replicas=1'),
  changes('scale deployment web --replicas=5 --current-replicas=4'),
  changes('set image deployment/web nginx=nginx:1.30'),
  changes('set env deployment/web MODE=fast'),
  changes('set env deployment/web MODE-'),
  changes('set resources deployment/web -c=nginx --limits=cpu=100m,memory=64Mi'),
  changes('set serviceaccount deployment/web builder'),
  changes('set selector service plain app=web'),
  changes('set subject rolebinding readers --user=nobody'),
  changes('rollout restart deployment/web'),
  changes('rollout pause deployment/web'),
  changes('rollout pause deployment/web'),
  changes('rollout resume deployment/web'),
  changes('rollout history deployment/web'),
  changes('rollout undo deployment/web'),
  changes('rollout status deployment/web --timeout=1s'),
  changes(`patch deployment web --subresource=status --type=merge -p ${ROLLED_OUT}`),
  changes('rollout status deployment/web --timeout=5s'),
  creates('expose deployment web --port=80 --name=exposed'),
  creates('autoscale deployment web --min=1 --max=3'),
  changes('replace -f -', web('nginx:1.31')),
  changes('apply -f -', web('nginx:1.32', ', imagePullPolicy: Always')),
  changes('apply view-last-applied deployment web'),
  changes('apply set-last-applied -f -', web('nginx:1.32')),
  changes('cordon writes-1'),
  changes('cordon writes-1'),
  changes('drain writes-1 --dry-run=server --ignore-daemonsets --force'),
  creates('run bound --image=nginx --overrides={"spec":{"nodeName":"writes-1"}}'),
  changes('drain writes-1 --force --grace-period=0 --dry-run=server'),
  changes('drain writes-1 --force --grace-period=0 --timeout=20s'),
  changes('uncordon writes-1'),
  changes('taint node writes-1 only=this:NoSchedule'),
  changes('taint node writes-1 only=this:NoSchedule'),
  changes('taint node writes-1 only-'),
  changes('label node writes-1 zone=a'),
  changes('auth reconcile -f -', roleOf('reader')),
  changes('delete pod single --grace-period=0 --force'),
  changes('wait pod single --for=delete --timeout=5s'),
  changes('delete configmap made --dry-run=server'),
  changes('delete configmap made'),
  changes('delete configmap made'),
  changes('delete configmap made --ignore-not-found'),
  changes('delete -f -', settings('four')),
  creates('create job once --image=busybox'),
  creates('create job once --image=busybox'),
  creates('create job manual --from=cronjob/often'),
  changes('get jobs -o name'),
  changes(`patch job once --subresource=status --type=merge -p ${DONE}`),
  changes('wait job/once --for=condition=Complete --timeout=5s'),
  changes('patch cronjob often --type=merge -p {"spec":{"suspend":true}}'),
  changes('get cronjob often -o jsonpath={.spec.suspend}'),
  changes('delete job manual --cascade=background'),
  changes('delete job once'),
  changes('delete job once'),
  changes('delete cronjob often'),
  changes('delete cronjob often --ignore-not-found'),
  changes('delete deployment,service,hpa,cronjob --all'),
  changes('delete secret/token role/reader rolebinding/readers serviceaccount/builder'),
  changes('delete node writes-1'),
]

function roleOf(name: string): string {
  return `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: ${name}, namespace: writes }
rules: [{ apiGroups: [''], resources: [pods, configmaps], verbs: [get] }]
`
}

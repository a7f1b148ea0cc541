/** Real Kubernetes, OpenSearch and Elasticsearch for integration and e2e tests. */
export { binaries, type Part } from './binaries.ts'
export {
  kubeconfig,
  startControlPlane,
  type ControlPlaneOptions,
  type KubeconfigEntry,
  type RealCluster,
  type StaticUser,
} from './control-plane.ts'
export { startGuarded, type GuardedProcess } from './guarded-process.ts'
export { createTestClient, type TestClient, type TestRequest, type TestResponse } from './http.ts'
export { kubectl, tryKubectl, type KubectlOptions, type KubectlResult } from './kubectl.ts'
export { HANDS_OFF, startKwok, type KwokOptions } from './kwok.ts'
export { startKubelet, type Kubelet } from './kubelet.ts'
export {
  SEARCH_ENGINES,
  startSearchEngine,
  type RealSearchEngine,
  type SearchEngineName,
  type SearchEngineUser,
} from './search-engine.ts'

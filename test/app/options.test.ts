import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { KARMADA_SEARCH_FLAGS } from '../../src/app/options/karmada-search-flags.ts'
import { readCommandLine, UsageError, type Config, type ServeConfig } from '../../src/app/options/config.ts'

interface KarmadaFlag {
  readonly name: string
  readonly short: string
  readonly type: string
  readonly default: string
}

const KARMADA_FLAGS: KarmadaFlag[] = readFileSync(
  new URL('../fixtures/karmada-search/flags.tsv', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [name = '', short = '', type = '', fallback = ''] = line.split('\t')
    return { name, short, type, default: fallback.replace(/^"|"$/g, '').replace(/^\[|\]$/g, '') }
  })

const SAMPLES: Readonly<Record<string, string>> = {
  bool: 'true',
  int: '7',
  uint: '7',
  float: '0.5',
  float32: '2.5',
  duration: '1m30s',
}

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Config {
  const line = readCommandLine(argv, env, '0.0.0')
  assert.ok('run' in line)
  return line.run
}

function serve(...argv: string[]): ServeConfig {
  const config = run(['serve', ...argv])
  assert.equal(config.command, 'serve')
  return config
}

function faults(argv: readonly string[]): string[] {
  try {
    readCommandLine(argv, {}, '0.0.0')
  } catch (error) {
    assert.ok(error instanceof UsageError)
    return error.message.split('\n')
  }
  return []
}

describe('flags of karmada-search', () => {
  it('has all of them, with the same short names and defaults', () => {
    const ours = KARMADA_SEARCH_FLAGS.map(({ name, short = '', default: fallback = '' }) => ({
      name,
      short,
      default: fallback,
    }))
    assert.deepEqual(
      ours,
      KARMADA_FLAGS.map(({ name, short, default: fallback }) => ({ name, short, default: fallback })),
    )
    assert.equal(ours.length, 132)
  })

  // Flags that name a file or have few values are tried with values of their own below.
  const special = new Set([
    'tls-min-version',
    'tls-cipher-suites',
    'tls-curve-preferences',
    'tls-sni-cert-key',
    'etcd-servers-overrides',
    'goaway-chance',
    'audit-log-path',
    'cors-allowed-origins',
    'encryption-provider-config',
    'encryption-provider-config-automatic-reload',
    ...KARMADA_FLAGS.map(({ name }) => name).filter((name) => /-file$|^etcd-(ca|cert|key)file$|kubeconfig$/.test(name)),
  ])
  for (const flag of KARMADA_FLAGS.filter(({ name }) => !special.has(name))) {
    it(`takes --${flag.name}, and warns where it has no effect`, () => {
      const value = flag.default === '' ? (SAMPLES[flag.type] ?? 'a') : flag.default
      const argument = flag.name.length === 1 ? `-${flag.name}=${value}` : `--${flag.name}=${value}`
      const honoured = KARMADA_SEARCH_FLAGS.find(({ name }) => name === flag.name)?.honoured !== undefined
      const { warnings } = serve(argument)
      const warned = warnings.some((warning) => warning.startsWith(`--${flag.name} `))
      assert.equal(warned, !honoured)
    })
  }

  it('shows each flag with its default, where there is one to see', () => {
    const line = readCommandLine(['demo', '--help'], {}, '1.2.3')
    const help = 'print' in line ? line.print : ''
    assert.match(help, /--port int\n.* \(default 8080\)\n/)
    assert.match(help, /--opensearch-url strings\n.*OPENSEARCH_CA_FILE\.\n/)
    assert.doesNotMatch(help, /\(default \)/)
  })

  it('names every fault at once', () => {
    assert.deepEqual(
      faults(['--no-such', '--secure-port=x', '--request-timeout', '5', '--tls-cert-file=/no/such', 'stray']),
      [
        'unknown flag: --no-such',
        'unexpected argument "stray"',
        'invalid argument "5" for --request-timeout: not a duration such as 30s or 1m',
        'invalid argument "x" for --secure-port: not a whole number',
        "--tls-cert-file: ENOENT: no such file or directory, open '/no/such'",
        '--tls-cert-file and --tls-private-key-file go together',
      ],
    )
  })

  it('takes the spellings of pflag', () => {
    assert.equal(serve('--disable_search').search, false)
    assert.equal(serve('--disable-search=false').search, true)
    assert.equal(serve('--secure-port', '9443').serving.securePort, 9443)
    for (const verbosity of [['-v', '4'], ['-v=4'], ['-v4'], ['--v=4'], ['--v', '4']]) {
      assert.equal(serve(...verbosity).logLevel, 'debug', verbosity.join(' '))
    }
    assert.deepEqual(
      serve('--authorization-always-allow-paths=/a,/b', '--authorization-always-allow-paths=/c').alwaysAllowPaths,
      ['/a', '/b', '/c'],
    )
  })

  it('has the defaults of karmada-search', () => {
    const config = serve()
    assert.equal(config.serving.securePort, 443)
    assert.equal(config.clusterApiQps, 40)
    assert.equal(config.clusterApiBurst, 60)
    assert.equal(config.requestTimeoutMs, 60_000)
    assert.deepEqual(config.alwaysAllowPaths, ['/healthz', '/readyz', '/livez'])
  })
})

describe('flags of requests', () => {
  it('say how the server stops', () => {
    assert.deepEqual(serve().shutdown, { delayMs: 0, sendRetryAfter: false, watchGraceMs: 0 })
    assert.deepEqual(
      serve(
        '--shutdown-delay-duration=5s',
        '--shutdown-send-retry-after',
        '--shutdown-watch-termination-grace-period=1m',
      ).shutdown,
      { delayMs: 5_000, sendRetryAfter: true, watchGraceMs: 60_000 },
    )
    assert.match(
      faults(['--shutdown-watch-termination-grace-period=-1s', '--shutdown-delay-duration=-1s']).join(),
      /shutdown-delay-duration must not be negative.*watch-termination-grace-period must not be negative/,
    )
  })

  it('say how long watches last and which pages may read', () => {
    assert.equal(serve().minRequestTimeoutSeconds, 1_800)
    assert.equal(serve('--min-request-timeout=60').minRequestTimeoutSeconds, 60)
    assert.deepEqual(serve().corsAllowedOrigins, [])
    const [pattern] = serve('--cors-allowed-origins=(?i)^https://a\\.example$').corsAllowedOrigins
    assert.ok(pattern?.test('https://A.example') === true && !pattern.test('https://axexample'))
    assert.match(faults(['--cors-allowed-origins=a,^b$,//(?=c):']).join(), /start of the host.*Go's regular/)
  })
})

describe('flags of etcd', () => {
  const file = import.meta.filename // any that can be read

  it('say where registries are kept', () => {
    assert.equal(serve().etcd, undefined)
    assert.deepEqual(serve('--etcd-servers=http://127.0.0.1:2379').etcd, {
      servers: ['http://127.0.0.1:2379'],
      prefix: '/registry',
      compactionIntervalMs: 300_000,
      healthcheckTimeoutMs: 2_000,
      readycheckTimeoutMs: 2_000,
      files: {},
    })
    const all = serve(
      '--etcd-servers=https://a:2379,https://b:2379/',
      '--etcd-servers=c:2379',
      '--etcd-prefix=/karmada',
      `--etcd-cafile=${file}`,
      `--etcd-certfile=${file}`,
      `--etcd-keyfile=${file}`,
      '--etcd-compaction-interval=0',
      '--etcd-healthcheck-timeout=0',
      '--etcd-readycheck-timeout=500ms',
    )
    assert.deepEqual(all.etcd, {
      servers: ['https://a:2379', 'https://b:2379', 'https://c:2379'],
      prefix: '/karmada',
      compactionIntervalMs: 0,
      healthcheckTimeoutMs: 2_000,
      readycheckTimeoutMs: 500,
      files: { caFile: file, certFile: file, keyFile: file },
    })
    assert.deepEqual(all.warnings, [])
  })

  it('say how registries are encrypted there, and never that they are where they are not', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-encryption-'))
    after(() => {
      rmSync(folder, { recursive: true })
    })
    const config = path.join(folder, 'config.yaml')
    const write = (provider: string): void => {
      const rule = `{ resources: ['*.*'], providers: [${provider}] }`
      writeFileSync(
        config,
        `{ apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [${rule}] }`,
      )
    }
    write('identity: {}')
    const flag = `--encryption-provider-config=${config}`
    const reload = '--encryption-provider-config-automatic-reload'
    const { etcd, warnings } = serve('--etcd-servers=http://a:1', flag, reload)
    assert.deepEqual(etcd?.encryption, { file: config, reload: true })
    assert.deepEqual(warnings, [])
    assert.deepEqual(faults([flag]), ['--encryption-provider-config needs --etcd-servers'])
    assert.deepEqual(faults([reload]), [`${reload} needs --encryption-provider-config`])
    write('{ kms: { name: a } }')
    assert.deepEqual(faults(['--etcd-servers=http://a:1', flag]), [
      '--encryption-provider-config: resources[0].providers[0].kms: not supported',
    ])
    assert.match(faults(['--etcd-servers=http://a:1', '--encryption-provider-config=/no/such']).join(), /ENOENT/)
  })

  it('may name other servers for registries alone', () => {
    const overrides = 'apps/deployments#http://x:1,search.karmada.io/resourceregistries#http://y:1;http://z:1'
    const { etcd } = serve('--etcd-servers=http://a:1', `--etcd-servers-overrides=${overrides}`)
    assert.deepEqual(etcd?.servers, ['http://y:1', 'http://z:1'])
  })

  it('are refused where they name no server, and show no password', () => {
    assert.deepEqual(
      faults([
        '--etcd-servers=ftp://a:1,http://root:secret@b:1,http://c:1/path,',
        '--etcd-servers-overrides=nothing',
        `--etcd-certfile=${file}`,
      ]),
      [
        '--etcd-certfile and --etcd-keyfile go together',
        '--etcd-servers-overrides: expected GROUP/RESOURCE#SERVER;SERVER, not nothing',
        '--etcd-servers: expected http://HOST:PORT or https://HOST:PORT, not ftp://a:1',
        '--etcd-servers: expected http://HOST:PORT or https://HOST:PORT, not http://…@b:1',
        '--etcd-servers: expected http://HOST:PORT or https://HOST:PORT, not http://c:1/path',
      ],
    )
  })
})

describe('flags of serving', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-flags-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  function file(name: string, text = 'x'): string {
    const full = path.join(folder, name)
    writeFileSync(full, text)
    return full
  }

  it('choose versions, ciphers and curves of TLS by their Go names', () => {
    const { serving } = serve(
      '--tls-min-version=VersionTLS13',
      '--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256',
      '--tls-curve-preferences=29,23',
    )
    assert.equal(serving.tlsMinVersion, 'TLSv1.3')
    assert.ok(serving.tlsCiphers.endsWith(':ECDHE-RSA-AES128-GCM-SHA256'))
    assert.equal(serving.tlsCurves, 'X25519:P-256')
    assert.equal(serve().serving.tlsMinVersion, 'TLSv1.2')
    assert.match(faults(['--tls-cipher-suites=RC5'])[0] ?? '', /^--tls-cipher-suites: RC5 is no cipher suite/)
    assert.match(faults(['--tls-curve-preferences=x'])[0] ?? '', /^--tls-curve-preferences: x is no curve/)
    assert.match(serve('--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA').warnings.join(), /is insecure/)
  })

  it('name certificates for server names, several of them', () => {
    const [crt, key] = [file('a.crt'), file('a.key')]
    const { serving } = serve(`--tls-sni-cert-key=${crt},${key}`, `--tls-sni-cert-key=${crt},${key}:*.a.org, b.org`)
    assert.deepEqual(serving.sniCertificates, [
      { certFile: crt, keyFile: key, names: [] },
      { certFile: crt, keyFile: key, names: ['*.a.org', 'b.org'] },
    ])
    assert.match(faults([`--tls-sni-cert-key=${crt}`])[0] ?? '', /expected CERTIFICATE,KEY/)
    assert.match(faults([`--tls-sni-cert-key=${crt},/no/such`])[0] ?? '', /ENOENT/)
  })

  it('switch HTTP/2 off and bound it, spread clients, share the port, and demand HTTPS', () => {
    const { serving } = serve(
      '--disable-http2-serving',
      '--http2-max-streams-per-connection=7',
      '--goaway-chance=0.01',
      '--permit-port-sharing',
      '--strict-transport-security-directives=max-age=31536000,includeSubDomains',
    )
    assert.equal(serving.http2, false)
    assert.equal(serving.http2MaxStreams, 7)
    assert.equal(serving.goawayChance, 0.01)
    assert.equal(serving.sharePort, true)
    assert.equal(serving.hsts, 'max-age=31536000; includeSubDomains')
    const plain = serve().serving
    assert.deepEqual([plain.http2, plain.http2MaxStreams, plain.goawayChance, plain.hsts], [true, 0, 0, undefined])
    assert.match(faults(['--goaway-chance=0.5'])[0] ?? '', /between 0 and 0.02/)
  })

  it('bound reads and writes apart', () => {
    const config = serve('--max-requests-inflight=3', '--max-mutating-requests-inflight=2')
    assert.deepEqual([config.maxRequestsInflight, config.maxMutatingRequestsInflight], [3, 2])
    assert.deepEqual([serve().maxRequestsInflight, serve().maxMutatingRequestsInflight], [400, 200])
  })

  it('say how callers are known', () => {
    const authentication = serve().authentication
    assert.deepEqual(authentication, {
      kubeconfig: undefined,
      clientCaFile: undefined,
      requestHeader: undefined,
      skipLookup: false,
      tolerateLookupFailure: false,
      tokenTtlMs: 10_000,
    })
    const other = serve(
      '--authentication-skip-lookup',
      '--authentication-tolerate-lookup-failure',
      '--authentication-token-webhook-cache-ttl=1m',
      `--client-ca-file=${file('ca.crt')}`,
      `--requestheader-client-ca-file=${file('proxy.crt')}`,
      '--requestheader-username-headers=X-First,X-Second',
      '--requestheader-uid-headers=X-Uid',
    ).authentication
    assert.deepEqual([other.skipLookup, other.tolerateLookupFailure, other.tokenTtlMs], [true, true, 60_000])
    assert.deepEqual(other.requestHeader?.usernameHeaders, ['x-first', 'x-second'])
    assert.deepEqual(other.requestHeader?.uidHeaders, ['x-uid'])
    assert.deepEqual(other.requestHeader?.groupHeaders, ['x-remote-group'])
    assert.deepEqual(
      faults([`--requestheader-client-ca-file=${file('proxy.crt')}`, '--requestheader-extra-headers-prefix= ']),
      ['--requestheader-extra-headers-prefix: a name is empty'],
    )
  })

  it('allow paths, with a * at their end alone', () => {
    assert.deepEqual(serve('--authorization-always-allow-paths=healthz,/live*').alwaysAllowPaths, [
      '/healthz',
      '/live*',
    ])
    assert.match(faults(['--authorization-always-allow-paths=/a*/b'])[0] ?? '', /\* may stand at the end/)
  })

  it('say what is recorded, where, and for how long', () => {
    const policy = file('policy.yaml', '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}')
    const { audit } = serve(`--audit-policy-file=${policy}`, '--audit-log-path=/var/log/audit.log')
    assert.ok(audit)
    assert.equal(audit.webhook, undefined)
    assert.deepEqual(audit.log, {
      path: '/var/log/audit.log',
      format: 'json',
      mode: 'blocking',
      batch: { bufferSize: 10_000, maxSize: 1, maxWaitMs: 0, throttle: undefined },
      maxBytes: 100 << 20,
      maxAgeMs: 366 * 86_400_000,
      maxBackups: 100,
      compress: false,
      maxEventBytes: undefined,
    })
    const other = serve(
      `--audit-policy-file=${policy}`,
      '--audit-log-path=-',
      '--audit-log-format=legacy',
      '--audit-log-mode=batch',
      '--audit-log-batch-buffer-size=5',
      '--audit-log-batch-max-size=2',
      '--audit-log-batch-max-wait=3s',
      '--audit-log-batch-throttle-enable',
      '--audit-log-batch-throttle-qps=2',
      '--audit-log-batch-throttle-burst=3',
      '--audit-log-maxsize=1',
      '--audit-log-maxage=2',
      '--audit-log-maxbackup=3',
      '--audit-log-compress',
      '--audit-log-truncate-enabled',
      '--audit-log-truncate-max-event-size=4096',
    ).audit
    assert.ok(other)
    assert.deepEqual(other.log, {
      path: '-',
      format: 'legacy',
      mode: 'batch',
      batch: { bufferSize: 5, maxSize: 2, maxWaitMs: 3_000, throttle: { qps: 2, burst: 3 } },
      maxBytes: 1 << 20,
      maxAgeMs: 2 * 86_400_000,
      maxBackups: 3,
      compress: true,
      maxEventBytes: 4_096,
    })
    const webhook = file('webhook.yaml', 'kind: Config')
    assert.deepEqual(serve(`--audit-policy-file=${policy}`, `--audit-webhook-config-file=${webhook}`).audit?.webhook, {
      kubeconfig: webhook,
      mode: 'batch',
      batch: { bufferSize: 10_000, maxSize: 400, maxWaitMs: 30_000, throttle: { qps: 10, burst: 15 } },
      initialBackoffMs: 10_000,
      maxEventBytes: undefined,
      maxBatchBytes: undefined,
    })
    const cut = serve(
      `--audit-policy-file=${policy}`,
      `--audit-webhook-config-file=${webhook}`,
      '--audit-webhook-mode=blocking-strict',
      '--audit-webhook-initial-backoff=1s',
      '--audit-webhook-truncate-enabled',
      '--audit-webhook-batch-throttle-enable=false',
    ).audit?.webhook
    assert.deepEqual(
      [cut?.mode, cut?.initialBackoffMs, cut?.maxEventBytes, cut?.maxBatchBytes, cut?.batch.throttle],
      ['blocking-strict', 1_000, 102_400, 10_485_760, undefined],
    )
    assert.equal(serve().audit, undefined)
    assert.match(serve('--audit-log-path=-').warnings.join(), /without --audit-policy-file: nothing is recorded/)
    assert.match(
      serve(`--audit-policy-file=${policy}`).warnings.join(),
      /without --audit-log-path or --audit-webhook-config-file: nothing is recorded/,
    )
    assert.deepEqual(faults([`--audit-policy-file=${file('bad.yaml', '{kind: Policy}')}`, '--audit-log-version=v2']), [
      '--audit-policy-file: apiVersion: must be audit.k8s.io/v1',
      '--audit-policy-file: rules: a policy without rules records nothing',
      '--audit-log-version must be audit.k8s.io/v1',
    ])
  })
})

describe('commands', () => {
  it('takes bare flags as serve', () => {
    assert.equal(run(['--secure-port=9443']).command, 'serve')
  })
  it('prints the version and help', () => {
    assert.deepEqual(readCommandLine(['version'], {}, '1.2.3'), { print: 'fleetsearch 1.2.3\n' })
    const help = readCommandLine(['demo', '--help'], {}, '1.2.3')
    assert.ok('print' in help && help.print.includes('--port int'))
  })
  it('names an unknown command', () => {
    assert.equal(faults(['dmeo'])[0], 'unknown command "dmeo"; did you mean demo?')
  })
  it('says which flag may have been meant, and where they are shown', () => {
    assert.deepEqual(faults(['demo', '--prot', '9090', '--clutsers=2', '--zzz']), [
      'unknown flag: --prot; did you mean --port?',
      'unknown flag: --clutsers; did you mean --clusters?',
      'unknown flag: --zzz',
    ])
    assert.throws(() => readCommandLine(['up', '--prot=1', '--kubeconfig=/'], {}, ''), {
      advice: /"fleetsearch up --help"/,
    })
  })

  it('takes what follows an unknown flag for its value', () => {
    assert.deepEqual(faults(['demo', '--data-dir', '/tmp/x', 'stray']), [
      'unknown flag: --data-dir',
      'unexpected argument "stray"',
    ])
  })
  it('does not know flags of another command', () => {
    assert.deepEqual(faults(['demo', '--secure-port=1']), ['unknown flag: --secure-port'])
  })
  it('completes up from the environment', () => {
    const config = run(['up'], { KUBECONFIG: import.meta.filename, HOME: '/home/someone' })
    assert.equal(config.command, 'up')
    assert.equal(config.command === 'up' && config.kubeconfig, import.meta.filename)
    assert.equal(config.dataDir, '/home/someone/.local/share/fleetsearch')
  })
  it('says where it looked for a kubeconfig', () => {
    assert.deepEqual(faults(['up', '--kubeconfig=/no/such']), [
      'no kubeconfig at /no/such (--kubeconfig or $KUBECONFIG)',
    ])
  })
})

describe('where serve searches', () => {
  const serve = (...flags: string[]): ServeConfig => {
    const line = readCommandLine(['serve', ...flags], {}, '0.0.0')
    assert.ok('run' in line)
    return line.run as ServeConfig
  }

  it('is a store of its own, an engine of registries, or nowhere; without search, nowhere', () => {
    assert.equal(serve().searchStore, 'embedded')
    assert.equal(serve('--search-store=registry').searchStore, 'registry')
    assert.equal(serve('--search-store=registry', '--disable-search').searchStore, 'off')
    assert.throws(() => serve('--search-store=somewhere'), /--search-store/)
  })

  it('is named in engines by a word that fits into the names of indices', () => {
    assert.equal(serve('--installation-id=prod1').installationId, 'prod1')
    assert.equal(serve().installationId, undefined)
    for (const id of ['a-b', 'Prod', 'x'.repeat(33), 'a*']) {
      assert.throws(() => serve(`--installation-id=${id}`), /--installation-id: 1 to 32/, id)
    }
  })
})

describe('--rights', () => {
  it('is the members’ own in Karmada, and everything on loopback', () => {
    assert.equal(serve().rights, 'member')
    assert.equal(run(['--secure-port=9443']).rights, 'member')
    assert.equal(run(['demo']).rights, 'off')
    assert.equal(run(['up'], { KUBECONFIG: import.meta.filename }).rights, 'off')
  })
  it('takes the modes that a command can have', () => {
    for (const mode of ['member', 'control-plane', 'off']) assert.equal(serve(`--rights=${mode}`).rights, mode)
    assert.equal(run(['demo', '--rights=member']).rights, 'member')
    assert.deepEqual(faults(['serve', '--rights=all']), ['--rights must be one of member, control-plane, off, not all'])
    assert.deepEqual(faults(['demo', '--rights=control-plane']), [
      '--rights must be one of off, member, not control-plane',
    ])
  })
})

describe('flags of the election', () => {
  it('have the defaults of Kubernetes’ own components, and a Lease beside karmada-search', () => {
    assert.deepEqual(serve().leaderElection, {
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2_000,
      lease: { namespace: 'karmada-system', name: 'fleetsearch' },
    })
  })
  it('are each taken', () => {
    assert.deepEqual(
      serve(
        '--leader-elect-lease-duration=1m',
        '--leader-elect-renew-deadline=40s',
        '--leader-elect-retry-period=5s',
        '--leader-elect-resource-name=other',
        '--leader-elect-resource-namespace=elsewhere',
      ).leaderElection,
      {
        leaseDurationMs: 60_000,
        renewDeadlineMs: 40_000,
        retryPeriodMs: 5_000,
        lease: { namespace: 'elsewhere', name: 'other' },
      },
    )
    assert.equal(serve('--leader-elect=false', '--leader-elect-lease-duration=1ms').leaderElection, undefined)
  })
  it('must leave a leader time to renew, and others time to see it', () => {
    assert.deepEqual(faults(['serve', '--leader-elect-lease-duration=10s']), [
      '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline',
    ])
    assert.deepEqual(faults(['serve', '--leader-elect-renew-deadline=2s']), [
      '--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period',
    ])
    assert.deepEqual(faults(['serve', '--leader-elect-retry-period=0s', '--leader-elect-resource-name=']), [
      '--leader-elect-retry-period must be greater than 0',
      '--leader-elect-resource-name must not be empty',
    ])
    const short = ['--leader-elect-lease-duration=900ms', '--leader-elect-renew-deadline=500ms']
    assert.deepEqual(faults(['serve', ...short, '--leader-elect-retry-period=100ms']), [
      '--leader-elect-lease-duration must be at least 1s',
    ])
  })
  it('are unknown where there is one replica', () => {
    assert.deepEqual(faults(['demo', '--leader-elect=false']), ['unknown flag: --leader-elect'])
  })
})

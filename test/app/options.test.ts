import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
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

describe('flags of etcd', () => {
  const file = import.meta.filename // any that can be read

  it('say where registries are kept', () => {
    assert.equal(serve().etcd, undefined)
    assert.deepEqual(serve('--etcd-servers=http://127.0.0.1:2379').etcd, {
      servers: ['http://127.0.0.1:2379'],
      prefix: '/registry',
      compactionIntervalMs: 300_000,
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
    )
    assert.deepEqual(all.etcd, {
      servers: ['https://a:2379', 'https://b:2379', 'https://c:2379'],
      prefix: '/karmada',
      compactionIntervalMs: 0,
      files: { caFile: file, certFile: file, keyFile: file },
    })
    assert.deepEqual(all.warnings, [])
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
    assert.equal(faults(['dmeo'])[0], 'unknown command "dmeo"')
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

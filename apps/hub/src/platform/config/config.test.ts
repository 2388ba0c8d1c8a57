import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import '../../features/index.ts'
import { limitNames, limitOf } from '../limits/limits.ts'
import { loadConfig, settingWarnings, unknownSettings, unshownBannerTags } from './config.ts'
import { ConfigError } from './config-error.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-config-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function refusalOf(env: Record<string, string>): string {
  try {
    loadConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const { message } = error as ConfigError
    expect(message.split('\n')).toHaveLength(1)
    return message
  }
  throw new Error(`it was accepted: ${JSON.stringify(env)}`)
}

async function consoleFile(text: string): Promise<string> {
  const file = join(folder, `${Math.random()}.json`)
  await writeFile(file, text)
  return file
}

describe('settings', () => {
  it('have defaults that work on one machine', () => {
    expect(loadConfig({})).toEqual({
      port: 6878,
      host: '127.0.0.1',
      publicUrl: 'http://localhost:6878',
      hstsSubdomains: false,
      hosts: [],
      dataDir: resolve('.muster'),
      backupDir: resolve('.muster/backups'),
      backupKeep: 14,
      backupToS3: false,
      databaseUrl: undefined,
      databaseDirectUrl: undefined,
      natsUrls: undefined,
      nodeName: hostname(),
      nodePort: undefined,
      nodeHost: '127.0.0.1',
      nodeUrl: undefined,
      allowPlaintextNodes: false,
      drainSecs: 10,
      rebalance: 'manual',
      trustedProxies: [],
      proxySecret: undefined,
      proxyDomain: 'localhost',
      proxySilenceSecs: 300,
      tls: undefined,
      devicePort: undefined,
      operatorPort: undefined,
      operatorHost: '127.0.0.1',
      operatorToken: undefined,
      tracesUrl: undefined,
      tracesHeaders: undefined,
      tracesPercent: 10,
      allowPlaintextDevices: false,
      diskLowBytes: 268_435_456,
      eventRetentionDays: 90,
      auditRetentionDays: undefined,
      instanceKey: undefined,
      previousInstanceKey: undefined,
      s3: undefined,
      outboundAllow: [],
      webhooksAllow: [],
      otlpAllow: [],
      outboundDeny: [],
      signup: 'open',
      smtpUrl: undefined,
      mailFrom: 'Muster <muster@localhost>',
      logLevel: 'info',
      limits: Object.fromEntries(limitNames().map(name => [name, limitOf(name).default])),
      console: {},
      retiredSettings: [],
    })
  })

  it('that are empty count as absent', () => {
    const empty = { MUSTER_PORT: '', MUSTER_PUBLIC_URL: '', MUSTER_NODE_NAME: '', MUSTER_CONFIG_JSON: '' }
    expect(loadConfig(empty)).toEqual(loadConfig({}))
  })

  it('are read from the environment', () => {
    const config = loadConfig({
      MUSTER_PORT: '8080',
      MUSTER_HOST: '::',
      MUSTER_PUBLIC_URL: 'https://hub.example:8443/',
      MUSTER_HOSTS: 'Hub.internal, 192.168.1.7\n::1',
      MUSTER_DATA_DIR: '/var/lib/muster',
      MUSTER_DATABASE_URL: 'postgresql://muster:secret@db.example:5432/muster?sslmode=require',
      MUSTER_DATABASE_DIRECT_URL: 'postgresql://muster:secret@primary.example:5432/muster',
      MUSTER_NATS_URL: 'nats://hub:secret@nats-1.example:4222, nats://hub:secret@nats-2.example',
      MUSTER_NODE_NAME: 'node 1',
      MUSTER_NODE_PORT: '6880',
      MUSTER_NODE_HOST: '0.0.0.0',
      MUSTER_NODE_URL: 'http://10.0.0.7:6880/',
      MUSTER_ALLOW_PLAINTEXT_NODES: '1',
      MUSTER_DRAIN_SECS: '30',
      MUSTER_REBALANCE: 'auto',
      MUSTER_TRUSTED_PROXIES: '10.0.0.0/8, 192.168.1.1\n::1 fd00::/8',
      MUSTER_PROXY_SECRET: 'sixteen letters!',
      MUSTER_PROXY_DOMAIN: 'devices.example',
      MUSTER_PROXY_SILENCE_SECS: '0',
      MUSTER_TLS_CERT: '/etc/hub.pem',
      MUSTER_TLS_KEY: '/etc/hub.key',
      MUSTER_TLS_CBC: '0',
      MUSTER_TLS_KEY_EXCHANGE: 'classic',
      MUSTER_HSTS_SUBDOMAINS: '1',
      MUSTER_DEVICE_PORT: '6879',
      MUSTER_OPERATOR_PORT: '6881',
      MUSTER_OPERATOR_HOST: '10.0.0.7',
      MUSTER_OPERATOR_TOKEN: 'abcdefgh'.repeat(4),
      MUSTER_TRACES_URL: 'http://collector.example:4318/v1/traces',
      MUSTER_TRACES_HEADERS: 'Authorization=Basic%20YTpi==, x-team = fleet one',
      MUSTER_TRACES_PERCENT: '100',
      MUSTER_ALLOW_PLAINTEXT_DEVICES: '1',
      MUSTER_DISK_LOW_BYTES: '10000000000',
      MUSTER_EVENT_RETENTION_DAYS: '7',
      MUSTER_AUDIT_RETENTION_DAYS: '365',
      MUSTER_INSTANCE_KEY: '0123456789abcdef'.repeat(4),
      MUSTER_INSTANCE_KEY_PREVIOUS: '1'.repeat(64),
      MUSTER_S3_ENDPOINT: 'https://s3.example.com/',
      MUSTER_S3_BUCKET: 'fleet',
      MUSTER_S3_REGION: 'eu-central-1',
      MUSTER_S3_PREFIX: '/muster//blobs/',
      MUSTER_S3_ACCESS_KEY_ID: 'AKIA',
      MUSTER_S3_SECRET_ACCESS_KEY: 'secret',
      MUSTER_S3_FORCE_PATH_STYLE: '0',
      MUSTER_OUTBOUND_ALLOW: '10.0.0.0/8, webhooks:10.1.0.0/16 otlp:10.2.0.7',
      MUSTER_OUTBOUND_DENY: '10.9.9.9',
      MUSTER_SIGNUP: 'invite',
      MUSTER_SMTP_URL: 'smtps://ada:secret@mail.example',
      MUSTER_MAIL_FROM: 'hub@example.com',
      MUSTER_LOG_LEVEL: 'debug',
      MUSTER_TERMS_URL: 'https://example.com/terms#a',
      MUSTER_PRIVACY_URL: 'https://example.com/privacy',
      OTHER: 'x',
      constructor: 'x',
    })
    expect(config).toEqual({
      port: 8080,
      host: '::',
      publicUrl: 'https://hub.example:8443',
      hosts: ['hub.internal', '192.168.1.7', '[::1]'],
      dataDir: '/var/lib/muster',
      backupDir: '/var/lib/muster/backups',
      backupKeep: 14,
      backupToS3: false,
      databaseUrl: 'postgresql://muster:secret@db.example:5432/muster?sslmode=require',
      databaseDirectUrl: 'postgresql://muster:secret@primary.example:5432/muster',
      natsUrls: ['nats://hub:secret@nats-1.example:4222', 'nats://hub:secret@nats-2.example'],
      nodeName: 'node 1',
      nodePort: 6880,
      nodeHost: '0.0.0.0',
      nodeUrl: 'http://10.0.0.7:6880',
      allowPlaintextNodes: true,
      drainSecs: 30,
      rebalance: 'auto',
      trustedProxies: ['10.0.0.0/8', '192.168.1.1', '::1', 'fd00::/8'],
      proxySecret: 'sixteen letters!',
      proxyDomain: 'devices.example',
      proxySilenceSecs: 0,
      tls: {
        certPath: '/etc/hub.pem',
        keyPath: '/etc/hub.key',
        refusesCbc: true,
        isClassicExchange: true,
      },
      hstsSubdomains: true,
      devicePort: 6879,
      operatorPort: 6881,
      operatorHost: '10.0.0.7',
      operatorToken: 'abcdefgh'.repeat(4),
      tracesUrl: 'http://collector.example:4318/v1/traces',
      tracesHeaders: { Authorization: 'Basic YTpi==', 'x-team': 'fleet one' },
      tracesPercent: 100,
      allowPlaintextDevices: true,
      diskLowBytes: 10_000_000_000,
      eventRetentionDays: 7,
      auditRetentionDays: 365,
      instanceKey: '0123456789abcdef'.repeat(4),
      previousInstanceKey: '1'.repeat(64),
      s3: {
        endpoint: 'https://s3.example.com',
        bucket: 'fleet',
        region: 'eu-central-1',
        prefix: 'muster/blobs',
        accessKeyId: 'AKIA',
        secretAccessKey: 'secret',
        forcePathStyle: false,
      },
      outboundAllow: ['10.0.0.0/8'],
      webhooksAllow: ['10.1.0.0/16'],
      otlpAllow: ['10.2.0.7'],
      outboundDeny: ['10.9.9.9'],
      signup: 'invite',
      smtpUrl: 'smtps://ada:secret@mail.example',
      mailFrom: 'hub@example.com',
      logLevel: 'debug',
      limits: loadConfig({}).limits,
      console: { termsUrl: 'https://example.com/terms#a', privacyUrl: 'https://example.com/privacy' },
      retiredSettings: [],
    })
  })

  it.each(['https://hub.example', 'hub.example:80', 'a/b', 'hub.example, user@host', '[::1]:80'])(
    'S13: refuse %j as host names',
    hosts => {
      expect(refusalOf({ MUSTER_HOSTS: hosts })).toMatch(
        /^MUSTER_HOSTS: found ".*", expected host names or addresses, without scheme and port\.$/,
      )
    },
  )

  it.each([
    ['hub.example', {}],
    ['example', {}],
    ['internal', { MUSTER_HOSTS: 'hub.internal' }],
  ])(
    'S11: refuse %j, a host name of the hub or a parent domain of one, as domain of device pages',
    (domain, more) => {
      const env = { MUSTER_PUBLIC_URL: 'https://hub.example', MUSTER_PROXY_DOMAIN: domain, ...more }
      expect(refusalOf(env)).toMatch(
        /^MUSTER_PROXY_DOMAIN: found [a-z.]+, expected a domain that is neither the hub's own name \(hub\.\w+\) nor a parent of it\.$/,
      )
    },
  )

  it('S11: accept localhost and another site as domain of device pages, and warn about the same site', () => {
    const warningsOf = (publicUrl: string, domain: string): string[] =>
      settingWarnings(loadConfig({ MUSTER_PUBLIC_URL: publicUrl, MUSTER_PROXY_DOMAIN: domain }))
    expect(warningsOf('http://localhost:80', 'localhost')).toEqual([])
    expect(warningsOf('http://hub.localhost', 'localhost')).toEqual([])
    expect(warningsOf('https://hub.example.com', 'example-devices.com')).toEqual([])
    expect(warningsOf('https://hub.a.co.uk', 'devices.b.co.uk')).toEqual([])
    for (const [publicUrl, domain] of [
      ['https://hub.example.com', 'devices.example.com'],
      ['https://example.com', 'devices.example.com'],
      ['https://hub.a.co.uk', 'devices.a.co.uk'],
    ] as const)
      expect(warningsOf(publicUrl, domain)).toEqual([
        expect.stringMatching(/^MUSTER_PROXY_DOMAIN: found devices\..*, on the same site as /),
      ])
  })

  it('derive the public URL from the port unless it is set', () => {
    expect(loadConfig({ MUSTER_PORT: '9000' }).publicUrl).toBe('http://localhost:9000')
    expect(loadConfig({ MUSTER_PORT: '9000', MUSTER_PUBLIC_URL: 'http://hub' })).toMatchObject({
      publicUrl: 'http://hub',
      proxyDomain: undefined,
    })
  })
})

describe('a setting that cannot be used', () => {
  const port = 'a port number'
  const origin = 'an http:// or https:// URL without a path'
  const link = 'an http:// or https:// URL'
  const days = 'a number of days from 1 to 3650'
  it.each([
    ['MUSTER_PORT', 'http', port],
    ['MUSTER_PORT', '65536', port],
    ['MUSTER_PORT', '-1', port],
    ['MUSTER_PORT', '80.5', port],
    ['MUSTER_PORT', '0x50', port],
    ['MUSTER_PORT', '8e1', port],
    ['MUSTER_PORT', ' ', port],
    ['MUSTER_PORT', ' 80', port],
    ['MUSTER_HOST', 'two words', 'an address or host name'],
    ['MUSTER_HOST', 'http://localhost', 'an address or host name'],
    ['MUSTER_PUBLIC_URL', 'hub.example', origin],
    ['MUSTER_PUBLIC_URL', 'hub.example:80', origin],
    ['MUSTER_PUBLIC_URL', 'ftp://hub.example', origin],
    ['MUSTER_PUBLIC_URL', 'https://hub.example/muster', origin],
    ['MUSTER_PUBLIC_URL', 'https://hub.example/?a=b', origin],
    ['MUSTER_PUBLIC_URL', 'https://hub.example/#a', origin],
    ['MUSTER_PUBLIC_URL', 'https://', origin],
    ['MUSTER_PUBLIC_URL', 'javascript:alert(1)', origin],
    ['MUSTER_NODE_NAME', 'x'.repeat(129), 'a name of at most 128 characters'],
    ['MUSTER_TRUSTED_PROXIES', '10.0.0.0/8, proxy.example', 'addresses or networks in CIDR form'],
    ['MUSTER_TRUSTED_PROXIES', '10.0.0.0/33', 'addresses or networks in CIDR form'],
    ['MUSTER_TRUSTED_PROXIES', 'true', 'addresses or networks in CIDR form'],
    ['MUSTER_ALLOW_PLAINTEXT_DEVICES', 'yes', '0 or 1'],
    ['MUSTER_ALLOW_PLAINTEXT_DEVICES', 'true', '0 or 1'],
    ['MUSTER_DISK_LOW_BYTES', '1GiB', 'a number of bytes from 1048576 to 9007199254740991'],
    ['MUSTER_EVENT_RETENTION_DAYS', '0', days],
    ['MUSTER_EVENT_RETENTION_DAYS', '3651', days],
    ['MUSTER_EVENT_RETENTION_DAYS', '1.5', days],
    ['MUSTER_EVENT_RETENTION_DAYS', 'for ever', days],
    ['MUSTER_AUDIT_RETENTION_DAYS', '29', 'a number of days from 30 to 36500'],
    ['MUSTER_PROXY_SILENCE_SECS', '86401', 'a number of seconds from 0 (never) to 86400'],
    ['MUSTER_SIGNUP', 'yes', 'open, invite or closed'],
    [
      'MUSTER_MAIL_FROM',
      'Hub\r\nBcc: x@evil.example <hub@a.example>',
      'an address, or a name and an address in <>',
    ],
    ['MUSTER_LOG_LEVEL', 'verbose', 'one of trace, debug, info, warn, error, silent'],
    ['MUSTER_TERMS_URL', 'javascript:alert(1)', link],
    ['MUSTER_TERMS_URL', '/terms', link],
    ['MUSTER_PRIVACY_URL', 'mailto:a@b.c', link],
  ])('is refused with the value found and the value expected: %s=%s', (name, value, expected) => {
    expect(refusalOf({ [name]: value })).toBe(
      `${name}: found ${JSON.stringify(value)}, expected ${expected}.`,
    )
  })

  it.each([
    ['MUSTER_PUBLIC_URL', 'https://ada:hunter2@hub.example', 'https://…@hub.example', origin],
    [
      'MUSTER_TRACES_URL',
      'https://hunter2@collector.example/v1?a@b',
      'https://…@collector.example/v1?a@b',
      `${link} without credentials, which belong in MUSTER_TRACES_HEADERS`,
    ],
  ])('is reported without the credentials in a URL: %s', (name, value, shown, expected) => {
    expect(refusalOf({ [name]: value })).toBe(`${name}: found "${shown}", expected ${expected}.`)
  })

  it('is reported in one line even if its value has line breaks', () => {
    expect(refusalOf({ MUSTER_HOST: 'a\nb\u2028"c' })).toBe(
      'MUSTER_HOST: found "a\\nb\u2028\\"c", expected an address or host name.',
    )
  })

  it.each([
    ['MUSTER_PROXY_SECRET', 'hunter2', 'at least 16 ASCII characters without blanks around them'],
    // HTTP headers do not transport the next two values unchanged.
    ['MUSTER_PROXY_SECRET', 'hunter2 hunter2 ', 'at least 16 ASCII characters without blanks around them'],
    [
      'MUSTER_PROXY_SECRET',
      `hunter2${'ü'.repeat(16)}`,
      'at least 16 ASCII characters without blanks around them',
    ],
    ['MUSTER_DATABASE_URL', 'mysql://root:hunter2@db', 'a postgresql:// URL'],
    ['MUSTER_DATABASE_URL', 'hunter2', 'a postgresql:// URL'],
    ['MUSTER_DATABASE_DIRECT_URL', 'hunter2', 'a postgresql:// URL'],
    ...[
      'hunter2',
      'nats://',
      'http://hub:hunter2@nats',
      'nats://hub:hunter2@nats/path',
      'nats://a,tls://hunter2',
    ].map((url): [string, string, string] => [
      'MUSTER_NATS_URL',
      url,
      'nats:// or tls:// URLs with a host and without a path, separated by commas, all with the same scheme',
    ]),
    ...['hunter2', 'a=hunter2,', '=hunter2', 'a=hunter2%0d', 'a b=hunter2', 'a=%'].map(
      (headers): [string, string, string] => [
        'MUSTER_TRACES_HEADERS',
        headers,
        'name=value, or several such pairs with commas between them',
      ],
    ),
    ['MUSTER_INSTANCE_KEY', 'hunter2', '64 hexadecimal digits (openssl rand -hex 32)'],
    ['MUSTER_SMTP_URL', 'http://ada:hunter2@mail', 'an smtp:// or smtps:// URL with a host'],
    ['MUSTER_SMTP_URL', 'smtp:hunter2', 'an smtp:// or smtps:// URL with a host'],
    ['MUSTER_SMTP_URL', 'smtp://', 'an smtp:// or smtps:// URL with a host'],
  ])('does not appear in the error when it is a secret: %s', (name, value, expected) => {
    const refusal = refusalOf({ [name]: value })
    expect(refusal).toBe(`${name}: found a value that is not shown, expected ${expected}.`)
    expect(refusal).not.toContain('hunter2')
  })

  it.each([
    'postgresql://u:hunter2@a:5432,b:5432/muster?target_session_attrs=read-write',
    'postgresql://a,b/muster',
    'postgresql:///muster?host=a,b',
  ])('O3: is a database URL with several hosts: %s', url => {
    expect(refusalOf({ MUSTER_DATABASE_URL: url })).toBe(
      'MUSTER_DATABASE_URL: found a value that is not shown, expected a postgresql:// URL with one host (a name or an address that follows the primary).',
    )
  })

  it('is named when another setting requires it and it is missing', () => {
    expect(
      refusalOf({
        MUSTER_S3_ENDPOINT: 'https://s3.example.com',
        MUSTER_S3_BUCKET: 'fleet',
        MUSTER_S3_ACCESS_KEY_ID: 'x',
      }),
    ).toBe('MUSTER_S3_SECRET_ACCESS_KEY: found nothing, expected a value because MUSTER_S3_ENDPOINT is set.')
    expect(refusalOf({ MUSTER_TRUSTED_PROXIES: '10.0.0.1' })).toBe(
      'MUSTER_PROXY_SECRET: found nothing, expected a secret because MUSTER_TRUSTED_PROXIES is set.',
    )
    expect(refusalOf({ MUSTER_DATABASE_URL: 'postgresql://db/muster', MUSTER_BUS: 'both' })).toBe(
      'MUSTER_NATS_URL: found nothing, expected the NATS servers because MUSTER_BUS is both.',
    )
    expect(refusalOf({ MUSTER_NATS_URL: 'nats://nats.example' })).toBe(
      'MUSTER_DATABASE_URL: found nothing, expected a database that all nodes use because MUSTER_NATS_URL is set.',
    )
    const node = { MUSTER_NODE_PORT: '6880', MUSTER_DATABASE_URL: 'postgresql://db.example/muster' }
    expect(refusalOf({ MUSTER_NODE_PORT: '6880' })).toBe(
      'MUSTER_DATABASE_URL: found nothing, expected the database that all nodes share because MUSTER_NODE_PORT is set.',
    )
    expect(refusalOf({ MUSTER_NODE_URL: 'https://10.0.0.7:6880' })).toBe(
      'MUSTER_NODE_PORT: found nothing, expected a port number because MUSTER_NODE_URL is set.',
    )
    expect(refusalOf({ ...node, MUSTER_NODE_HOST: '10.0.0.7' })).toBe(
      'MUSTER_NODE_URL: found nothing, expected the address by which other nodes reach this one because MUSTER_NODE_HOST is set.',
    )
  })

  it('is refused as an address of links between nodes without TLS beyond this machine', () => {
    const node = { MUSTER_NODE_PORT: '6880', MUSTER_DATABASE_URL: 'postgresql://db.example/muster' }
    expect(refusalOf({ ...node, MUSTER_NODE_URL: 'http://10.0.0.7:6880' })).toBe(
      'MUSTER_NODE_URL: found "http://10.0.0.7:6880", expected https, an address of this machine, or MUSTER_ALLOW_PLAINTEXT_NODES=1.',
    )
    for (const url of ['http://localhost:6880', 'https://10.0.0.7:6880'])
      expect(loadConfig({ ...node, MUSTER_NODE_URL: url }).nodeUrl).toBe(url)
  })
})

describe('the operator listener', () => {
  it('is refused without TLS beyond this machine', () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'hub.internal'])
      expect(refusalOf({ MUSTER_OPERATOR_PORT: '6881', MUSTER_OPERATOR_HOST: host })).toBe(
        'MUSTER_TLS_CERT: found nothing, expected a file because MUSTER_OPERATOR_HOST is not an address of this machine only.',
      )
    for (const host of ['127.0.0.1', '::1', 'localhost'])
      expect(loadConfig({ MUSTER_OPERATOR_PORT: '6881', MUSTER_OPERATOR_HOST: host }).operatorHost).toBe(host)
  })

  it('needs a long token, which a refusal does not repeat', () => {
    expect(refusalOf({ MUSTER_OPERATOR_TOKEN: 'too short' })).toBe(
      'MUSTER_OPERATOR_TOKEN: found a value that is not shown, expected 32 to 256 ASCII characters without blanks (openssl rand -hex 32).',
    )
  })
})

describe('the console configuration file', () => {
  const expected =
    'expected {"banner"?: {"text"}, "scripts"?: [{"src", "attributes"}], "connect"?: [origin]}.'

  it('sets banner and scripts, and other fields are ignored', async () => {
    const file = await consoleFile(
      JSON.stringify({
        banner: { text: '<b>Hello</b>', more: 1 },
        scripts: [{ src: 'https://a.example/x.js', attributes: { defer: '' } }, { src: '/y.js' }],
        more: 1,
      }),
    )
    expect(loadConfig({ MUSTER_CONFIG_JSON: file, MUSTER_TERMS_URL: 'https://a.example/' }).console).toEqual({
      banner: { text: '<b>Hello</b>' },
      scripts: [
        { src: 'https://a.example/x.js', attributes: { defer: '' } },
        { src: '/y.js', attributes: {} },
      ],
      termsUrl: 'https://a.example/',
    })
    expect(loadConfig({ MUSTER_CONFIG_JSON: await consoleFile('{}') }).console).toEqual({})
  })

  it('names the origins to which its scripts may connect', async () => {
    const connect = ['https://collect.example', 'wss://live.example:8443', 'https://*.stats.example']
    const file = await consoleFile(JSON.stringify({ connect }))
    expect(loadConfig({ MUSTER_CONFIG_JSON: file }).console).toEqual({ connect })
  })

  it('that is missing is refused', () => {
    const refusal = refusalOf({ MUSTER_CONFIG_JSON: '/nowhere/config.json' })
    expect(refusal).toMatch(/^MUSTER_CONFIG_JSON: found \/nowhere\/config\.json \(ENOENT/)
    expect(refusal).toContain(expected)
  })

  it.each([
    ['is not JSON', '{\n  "banner":\n', 'JSON'],
    ['is a list', '[]', 'expected object'],
    ['has a banner that is a string', '{"banner":"x"}', 'banner: '],
    ['has a script without a source', '{"scripts":[{}]}', 'scripts.0.src: '],
    ['has a script without a host', '{"scripts":[{"src":"https://"}]}', 'expected an http(s) URL or a path'],
    [
      'has a script with an invalid URL',
      '{"scripts":[{"src":"https://a b;c/"}]}',
      'expected an http(s) URL or a path',
    ],
    [
      'has a script URL with another scheme',
      '{"scripts":[{"src":"data:text/javascript,1"}]}',
      'expected an http(s) URL or a path',
    ],
    [
      'has a script URL without a scheme',
      '{"scripts":[{"src":"//a.example/x.js"}]}',
      'expected an http(s) URL or a path',
    ],
    [
      'has a script path that browsers read as another host because of a backslash',
      '{"scripts":[{"src":"/\\\\evil.example/x.js"}]}',
      'expected an http(s) URL or a path',
    ],
    [
      'has a script whose host would end a directive of the Content-Security-Policy',
      '{"scripts":[{"src":"https://a;b.example/"}]}',
      'expected an http(s) URL or a path',
    ],
    [
      'has an event handler among the attributes',
      '{"scripts":[{"src":"/x","attributes":{"onload":"x()"}}]}',
      'expected attribute names that are no event handlers',
    ],
    [
      'has an invalid attribute name',
      '{"scripts":[{"src":"/x","attributes":{"a b":"c"}}]}',
      'expected attribute names that are no event handlers',
    ],
    ['has a connect URL with a path', '{"connect":["https://a.example/x"]}', 'connect.0: '],
    ['has a CSP keyword among the connect URLs', `{"connect":["'unsafe-inline'"]}`, 'connect.0: '],
    ['has a wildcard for all hosts among the connect URLs', '{"connect":["*"]}', 'connect.0: '],
    ['has a connect URL whose host would end the directive', '{"connect":["https://a;b"]}', 'connect.0: '],
    [
      'has an attribute value that is not a string',
      '{"scripts":[{"src":"/x","attributes":{"a":1}}]}',
      'scripts.0.attributes.a: ',
    ],
  ])('that %s is refused with the reason', async (_what, text, problem) => {
    const file = await consoleFile(text)
    const refusal = refusalOf({ MUSTER_CONFIG_JSON: file })
    expect(refusal).toContain(`MUSTER_CONFIG_JSON: found ${file} (`)
    expect(refusal).toContain(problem)
    expect(refusal).toContain(expected)
  })
})

it('C16: names elements of a banner that the console does not show, each once', () => {
  const text = '<b>Down</b> on <u>Sunday</u><br><IMG src="x"> 1 < 2 <a href="/x">more</a><u>!</u></i>'
  expect(unshownBannerTags({ console: { banner: { text } } })).toEqual(['u', 'img'])
  expect(unshownBannerTags({ console: {} })).toEqual([])
})

describe('the name of the instance', () => {
  it('C18: is sent to the console without surrounding blanks', () => {
    expect(loadConfig({ MUSTER_INSTANCE_NAME: ' Halden 🏗 ' }).console.instanceName).toBe('Halden 🏗')
    expect(loadConfig({ MUSTER_INSTANCE_NAME: '🏗'.repeat(64) }).console.instanceName).toHaveLength(128)
    expect(loadConfig({}).console).toEqual({})
  })

  it.each(['x'.repeat(65), 'a\nb', '  ', '\ud800'])('C18: is refused as %j', name => {
    expect(refusalOf({ MUSTER_INSTANCE_NAME: name })).toBe(
      `MUSTER_INSTANCE_NAME: found ${JSON.stringify(name)}, expected a name of 1 to 64 characters without control characters.`,
    )
  })
})

it('lists environment variables that look like settings but are not', () => {
  const env = {
    MUSTER_PORT: '1',
    MUSTER_PROT: '1',
    MUSTER_: '1',
    PATH: 'x',
    MUSTERED: 'x',
    MUSTER_toString: '1',
  }
  expect(unknownSettings(env)).toEqual(['MUSTER_PROT', 'MUSTER_', 'MUSTER_toString'])
})

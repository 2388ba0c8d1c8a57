import { describe, expect, it } from 'vitest'
import { configFromOptions, parseConfig, readConfigFile } from './config.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`
const FILE = '/etc/fleet/agent.toml'
const base = `hub-url = "https://hub.example.com"\ntoken = "${TOKEN}"\nfingerprint-script = "fingerprint.sh"\n`

function parse(text: string) {
  return parseConfig(text, FILE)
}

describe('a configuration file', () => {
  it('uses the defaults of the public agent', () => {
    expect(parse(base)).toEqual({
      hubUrl: 'https://hub.example.com',
      token: TOKEN,
      fingerprintScript: '/etc/fleet/fingerprint.sh',
      certificatePath: '/etc/nexigon/agent/ssl/cert.pem',
      keyPath: '/etc/nexigon/agent/ssl/key.pem',
      dataDir: '/var/lib/nexigon/agent',
      allowPlaintext: false,
      acceptInvalidCertificates: false,
      publishSystemInfo: true,
      exports: [],
      eventQueue: { maxEvents: 10_000, maxBytes: 16_777_216 },
    })
  })

  it('resolves relative paths from its own folder', () => {
    const config = parse(`${base}ssl-cert = "ssl/c.pem"\nssl-key = "/keys/k.pem"\ndata-path = "../data"\n`)
    expect(config).toMatchObject({
      certificatePath: '/etc/fleet/ssl/c.pem',
      keyPath: '/keys/k.pem',
      dataDir: '/etc/data',
    })
  })

  it('reads the plaintext key of 2025 and 2026', () => {
    const http = base.replace('https', 'http')
    expect(parse(`${http}dangerous-disable-tls = true`).allowPlaintext).toBe(true)
    expect(parse(`${http}dangerous-allow-plaintext = true`).allowPlaintext).toBe(true)
    expect(parse(`${base}dangerous-accept-invalid-certificates = true`).acceptInvalidCertificates).toBe(true)
  })

  it('turns system information off by the key of 2025 and 2026', () => {
    expect(parse(`${base}disable-system-info = true`).publishSystemInfo).toBe(false)
    expect(parse(`${base}[telemetry]\nsystem-info = false`).publishSystemInfo).toBe(false)
    expect(parse(`${base}[telemetry]\nother = 1`).publishSystemInfo).toBe(true)
  })

  it('reads exports', () => {
    const text = `${base}[[exports]]\nprotocol = "http"\nname = "web"\nport = 8080\npath = "/ui"\n[[exports]]\nprotocol = "http"\nname = "api"\nport = 80`
    expect(parse(text).exports).toEqual([
      { protocol: 'http', name: 'web', port: 8080, path: '/ui' },
      { protocol: 'http', name: 'api', port: 80 },
    ])
  })

  it('D5: reads exports with https', () => {
    const text = `${base}[[exports]]\nprotocol = "https"\nname = "web"\nport = 8443`
    expect(parse(text).exports).toEqual([{ protocol: 'https', name: 'web', port: 8443 }])
  })

  it('ignores unknown keys', () => {
    const text = `${base}colour = "red"\n[terminal]\nenabled = true\n[local-api]\nsocket-path = "/run/x"`
    expect(parse(text)).toEqual(parse(base))
  })

  it.each([
    [
      base.replace(/^token.*\n/m, ''),
      'token: found nothing, expected a deployment token: deployment_ and 66 base-58 characters',
    ],
    [base.replace(TOKEN, 'u_sk_secret'), 'token: found a text of 11 characters, expected a deployment token'],
    [base.replace(/^hub-url.*\n/m, ''), 'hub-url: found nothing, expected the address of the hub'],
    [base.replace('https://hub.example.com', 'hub'), 'hub-url: found "hub", expected the address of the hub'],
    [
      base.replace('https:', 'http:'),
      'hub-url: found "http://hub.example.com", expected https://, or dangerous-allow-plaintext = true',
    ],
    [
      base.replace(/^fingerprint.*\n/m, ''),
      'fingerprint-script: found nothing, expected the path of a program',
    ],
    [`${base}ssl-cert = 5`, 'ssl-cert: found 5, expected a text'],
    [
      `${base}dangerous-allow-plaintext = "yes"`,
      'dangerous-allow-plaintext: found "yes", expected true or false',
    ],
    [`${base}telemetry = true`, 'telemetry: found true, expected a table [telemetry]'],
    [`${base}[telemetry]\nsystem-info = 1`, 'telemetry.system-info: found 1, expected true or false'],
    [`${base}exports = "web"`, 'exports: found "web", expected tables [[exports]]'],
    [`${base}[[exports]]\nprotocol = "ftp"`, 'exports[0].protocol: found "ftp", expected "http" or "https"'],
    [
      `${base}[[exports]]\nprotocol = "http"\nname = "a"\nport = 70000`,
      'exports[0].port: found 70000, expected an integer from 1 to 65535',
    ],
    [`${base}x = = 1`, 'found a syntax error in line 4'],
  ])('is refused with one line that names the key (%#)', (text, message) => {
    const error = catchError(() => parse(text))
    expect(error).toContain(`${FILE}: `)
    expect(error).toContain(message)
    expect(error).not.toContain('\n')
    expect(error).not.toContain('secret')
  })

  it('reports that the file cannot be read', async () => {
    await expect(readConfigFile('/nowhere/agent.toml')).rejects.toThrow(
      '--config: found /nowhere/agent.toml (ENOENT), expected',
    )
  })
})

describe('configuration from options', () => {
  it('keeps everything in the data folder', () => {
    const config = configFromOptions({
      hub: 'https://hub.example.com',
      token: TOKEN,
      data: '/data',
      name: 'shown',
    })
    expect(config).toMatchObject({
      dataDir: '/data',
      certificatePath: '/data/cert.pem',
      keyPath: '/data/key.pem',
      hostname: 'shown',
    })
    expect(config.fingerprintScript).toBeUndefined()
  })

  it.each(['http://localhost:6878', 'http://127.0.0.1', 'http://[::1]:80'])(
    'allows plain HTTP to this machine: %s',
    hub => {
      expect(configFromOptions({ hub, token: TOKEN }).allowPlaintext).toBe(true)
    },
  )

  it.each(['http://10.0.0.1', 'http://localhost.example.com', 'http://127.0.0.1.example.com'])(
    'refuses plain HTTP to %s',
    hub => {
      expect(() => configFromOptions({ hub, token: TOKEN })).toThrow(
        `--hub: found "${hub}", expected https://, or --dangerous-allow-plaintext`,
      )
      expect(configFromOptions({ hub, token: TOKEN, dangerousAllowPlaintext: true }).hubUrl).toBe(hub)
    },
  )

  it.each(['ftp://hub', 'hub', 'https:'])('refuses %s', hub => {
    expect(() => configFromOptions({ hub, token: TOKEN })).toThrow('--hub: found')
  })

  it('does not show a token given as the address', () => {
    const error = catchError(() => configFromOptions({ hub: TOKEN, token: 'https://hub' }))
    expect(error).toMatch(/^--hub: found "deployment_…", expected the address of the hub/)
  })

  it('refuses a token of another kind without showing it', () => {
    expect(() => configFromOptions({ hub: 'https://hub', token: 'u_sk_abc' })).toThrow(
      '--token: found a text of 8 characters',
    )
  })
})

function catchError(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return ''
}

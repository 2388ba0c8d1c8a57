import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { checkSettings, loadConfig, SECRETS, unknownSettings } from './config.ts'
import { ConfigError } from './config-error.ts'
import { readSources } from './setting-sources.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-sources-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function file(text: string): Promise<string> {
  const path = join(folder, String(Math.random()))
  await writeFile(path, text)
  return path
}

/** Problems of a hub whose configuration file has this text. */
async function problemsOf(text: string): Promise<string[]> {
  return checkSettings({ MUSTER_CONFIG_FILE: await file(text) }).problems
}

const SMTP = 'smtp://hub:secret@mail.example'
/** A value of each secret. */
const VALUES: Record<(typeof SECRETS)[number], string> = {
  MUSTER_DATABASE_URL: 'postgresql://hub:secret@database.example/muster',
  MUSTER_DATABASE_DIRECT_URL: 'postgresql://hub:secret@primary.example/muster',
  MUSTER_NATS_URL: 'nats://hub:secret@nats.example',
  MUSTER_OPERATOR_TOKEN: `secret${'0'.repeat(32)}`,
  MUSTER_TRACES_HEADERS: 'authorization=Bearer%20secret, x-team=fleet',
  MUSTER_PROXY_SECRET: 'a secret of the proxy',
  MUSTER_INSTANCE_KEY: '5ec7e7'.padEnd(64, '0'),
  MUSTER_INSTANCE_KEY_PREVIOUS: '5ec7e7'.padEnd(64, '1'),
  MUSTER_S3_SECRET_ACCESS_KEY: 'secret/access/key',
  MUSTER_SMTP_URL: SMTP,
}
/** Settings that some secrets need beside them. */
const OTHERS = {
  MUSTER_DATABASE_URL: 'postgresql://database.example/muster',
  MUSTER_S3_ENDPOINT: 'https://s3.example',
  MUSTER_S3_BUCKET: 'muster',
  MUSTER_S3_ACCESS_KEY_ID: 'muster',
  MUSTER_S3_SECRET_ACCESS_KEY: 'replaced',
}

describe('a configuration file', () => {
  it('has every kind of setting, by its name in lower case with hyphens', async () => {
    const text = `
      port = 8080
      public-url = "https://hub.example"
      trusted-proxies = ["10.0.0.0/8", "::1"]
      proxy-secret = "sixteen letters!"
      allow-plaintext-devices = true
      instance-name = ""
      limit-person-tokens = 7

      [limit]
      device-properties = 3
      [tls]
      cert = "/etc/muster/cert.pem"
      key = "/etc/muster/key.pem"
    `
    const config = loadConfig({ MUSTER_CONFIG_FILE: await file(text) })
    expect(config).toMatchObject({
      port: 8080,
      publicUrl: 'https://hub.example',
      trustedProxies: ['10.0.0.0/8', '::1'],
      allowPlaintextDevices: true,
      tls: { certPath: '/etc/muster/cert.pem', keyPath: '/etc/muster/key.pem' },
      console: {},
    })
    expect(config.limits).toMatchObject({ 'person-tokens': 7, 'device-properties': 3 })
  })

  it('is overridden by the environment', async () => {
    const path = await file('port = 8080\nhost = "::"')
    expect(loadConfig({ MUSTER_CONFIG_FILE: path, MUSTER_PORT: '9000', MUSTER_HOST: '' })).toMatchObject({
      port: 9000,
      host: '::',
    })
  })

  it('is validated as the environment is, and the file is named', async () => {
    const path = await file('port = 70000\nsignup = "all"\nsmtp-url = "secret"')
    expect(checkSettings({ MUSTER_CONFIG_FILE: path }).problems).toEqual([
      `MUSTER_PORT (${path}): found "70000", expected a port number.`,
      `MUSTER_SIGNUP (${path}): found "all", expected open, invite or closed.`,
      `MUSTER_SMTP_URL (${path}): found a value that is not shown, expected an smtp:// or smtps:// URL with a host.`,
    ])
    expect(() => loadConfig({ MUSTER_CONFIG_FILE: path })).toThrow(ConfigError)
  })

  it('S36: is refused with keys that are no settings, each with the nearest name', async () => {
    const path = await file(
      'prot = 1\nport = 1\nsigunp = "closed"\nconfig-file = "x"\nsmtp-url-flie = "x"\nMUSTER_SIGNUP = "closed"\nport-file = "x"\n[s4]\nbucket = ""\n[limit]\nperson-token = 1',
    )
    const found = (key: string, expected: string) =>
      `${key} (${path}): found a key that is no setting, expected ${expected}.`
    const problems = [
      found('prot', 'port'),
      found('sigunp', 'signup'),
      found('config-file', 'a setting of docs/operating.md'),
      found('smtp-url-flie', 'smtp-url-file'),
      found('muster-signup', 'signup'),
      found('port-file', 'a setting of docs/operating.md'),
      found('s4-bucket', 's3-bucket'),
      found('limit-person-token', 'limit-person-tokens'),
    ]
    const env = { MUSTER_CONFIG_FILE: path }
    expect(checkSettings(env).problems).toEqual(problems)
    expect(() => loadConfig(env)).toThrow(problems[0])
    const checked = await runHere(['check-config'], env)
    expect(checked).toMatchObject({ code: 1, err: '' })
    expect(checked.out.split('\n').slice(0, problems.length)).toEqual(problems)
    expect(unknownSettings({ ...env, MUSTER_PORT_FILE: 'x', MUSTER_PROT: 'x' })).toEqual([
      'MUSTER_PORT_FILE',
      'MUSTER_PROT',
    ])
  })

  it('S36: is refused with keys of any form', async () => {
    const long = 'x'.repeat(5000)
    const path = await file(`"" = 1\n"__proto__" = 1\n"ключ \\n" = 1\n${long} = 1`)
    const { problems } = checkSettings({ MUSTER_CONFIG_FILE: path })
    expect(problems).toHaveLength(4)
    for (const problem of problems) {
      expect(problem).toMatch(/: found a key that is no setting, expected .+\.$/)
      expect(problem.length).toBeLessThan(300)
      expect(problem).not.toContain('\n')
    }
  })

  it('S36: may have retired keys, which are ignored with a warning', async () => {
    const path = await file('port = 1\nold-name = 3\nold-nam = 3')
    const env = { MUSTER_CONFIG_FILE: path, MUSTER_OTHER_OLD_NAME: 'x', MUSTER_EMPTY_OLD_NAME: '' }
    const advice = {
      MUSTER_OLD_NAME: 'set MUSTER_PORT',
      MUSTER_OTHER_OLD_NAME: 'remove it',
      MUSTER_EMPTY_OLD_NAME: 'remove it',
    }
    const sources = readSources(env, { names: ['MUSTER_PORT'], secrets: [], retired: advice })
    expect([...sources.retired]).toEqual([
      ['MUSTER_OTHER_OLD_NAME', 'remove it'],
      ['MUSTER_OLD_NAME', 'set MUSTER_PORT'],
    ])
    expect([...sources.values.keys()]).toEqual(['MUSTER_PORT'])
    expect([...sources.problems.keys()]).toEqual(['MUSTER_OLD_NAM'])
    expect(sources.unknown).toEqual([])
  })

  it.each([
    ['port = ', 'line 1: '],
    ['smtp-url = "smtp://secret\n', 'line 1: '],
    ['port = 1.5', 'port: expected a text, a whole number, true, false or a list of texts'],
    ['[s3]\nbucket = 1979-05-27', 's3.bucket: expected'],
    ['hosts = [1]', 'hosts: expected'],
  ])('with %j is refused in one line without its text', async (text, problem) => {
    const [line, ...others] = await problemsOf(text)
    expect(others).toEqual([])
    expect(line).toMatch(
      /^MUSTER_CONFIG_FILE: found \/\S+ \(.*\), expected a TOML file of settings \(docs\/operating\.md\)\.$/,
    )
    expect(line).toContain(problem)
    expect(line).not.toContain('secret')
  })

  it.each([
    ['/nonexistent', 'ENOENT'],
    ['/dev/zero', 'it is no regular file'],
  ])('%s is refused', (path, problem) => {
    expect(checkSettings({ MUSTER_CONFIG_FILE: path }).problems).toEqual([
      `MUSTER_CONFIG_FILE: found ${path} (${problem}), expected a TOML file of settings (docs/operating.md).`,
    ])
  })
})

describe('a secret in a file', () => {
  it.each(SECRETS)('is read for %s, and shown nowhere', async name => {
    const value = VALUES[name]
    const { [name as keyof typeof OTHERS]: _replaced, ...others } = OTHERS
    const expected = loadConfig({ ...others, [name]: value })
    expect(expected).not.toEqual(loadConfig(OTHERS))
    const path = await file(`${value}\n`)
    const key = name.slice('MUSTER_'.length).toLowerCase().replaceAll('_', '-')
    const fromFile = { ...others, [`${name}_FILE`]: path }
    const fromConfig = { ...others, MUSTER_CONFIG_FILE: await file(`${key}-file = "${path}"`) }
    for (const env of [fromFile, fromConfig]) {
      expect(unknownSettings(env)).toEqual([])
      expect(loadConfig(env)).toEqual(expected)
      const { out } = await runHere(['--print-config'], env)
      expect(out).toContain(`is set and not shown (${path})`)
      expect(out).not.toContain(value)
    }
  })

  it('is read without its final line break, from the environment and from a configuration file', async () => {
    const path = await file(`${SMTP}\n`)
    expect(loadConfig({ MUSTER_SMTP_URL_FILE: path }).smtpUrl).toBe(SMTP)
    const config = await file(`smtp-url-file = "${path}"`)
    expect(loadConfig({ MUSTER_CONFIG_FILE: config }).smtpUrl).toBe(SMTP)
    const broken = await file('smtp-url-file = "/nonexistent"')
    const env = { MUSTER_CONFIG_FILE: broken, MUSTER_SMTP_URL: 'smtp://other.example' }
    expect(loadConfig(env).smtpUrl).toBe('smtp://other.example')
  })

  it('that cannot be used is refused in one line, once', async () => {
    const empty = await file('\n')
    const short = await file('too short')
    const expected = 'expected a file with the value of MUSTER_PROXY_SECRET.'
    for (const [path, line] of [
      ['/nonexistent', `MUSTER_PROXY_SECRET_FILE: found /nonexistent (ENOENT), ${expected}`],
      [empty, `MUSTER_PROXY_SECRET_FILE: found ${empty} (it is empty), ${expected}`],
      [
        short,
        `MUSTER_PROXY_SECRET (${short}): found a value that is not shown, expected at least 16 ASCII characters without blanks around them.`,
      ],
    ] as const) {
      const env = { MUSTER_PROXY_SECRET_FILE: path, MUSTER_TRUSTED_PROXIES: '::1' }
      expect(checkSettings(env).problems).toEqual([line])
    }
    const both = { MUSTER_PROXY_SECRET_FILE: short, MUSTER_PROXY_SECRET: 'x' }
    expect(checkSettings(both).problems[0]).toBe(
      'MUSTER_PROXY_SECRET_FILE: found it beside MUSTER_PROXY_SECRET, expected one of them.',
    )
  })
})

describe('muster-hub --print-config', () => {
  it('prints a configuration file of all settings without secrets, and where each comes from', async () => {
    const smtp = await file(SMTP)
    const path = await file(
      `hosts = ["a.example", "b.example"]\nsmtp-url-file = "${smtp}"\ninstance-name = "\\"A\\" # B"`,
    )
    const env = { MUSTER_CONFIG_FILE: path, MUSTER_PORT: '8080', MUSTER_ALLOW_PLAINTEXT_DEVICES: '1' }
    const { code, out, err } = await runHere(['--print-config'], env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'port = 8080  # environment',
        'host = "127.0.0.1"  # default',
        `hosts = [ "a.example", "b.example" ]  # ${path}`,
        'allow-plaintext-devices = true  # environment',
        `# smtp-url is set and not shown (${smtp})`,
        '# public-url is not set',
      ]),
    )
    expect(out).not.toContain('hub:secret')
    const printed = loadConfig({ MUSTER_CONFIG_FILE: await file(out) })
    expect({ ...printed, smtpUrl: SMTP }).toEqual(loadConfig(env))
  })

  it('refuses settings with which the hub does not start', async () => {
    expect(await runHere(['--print-config'], { MUSTER_PORT: 'x' })).toEqual({
      code: 1,
      out: '',
      err: 'MUSTER_PORT: found "x", expected a port number.\n',
    })
  })
})

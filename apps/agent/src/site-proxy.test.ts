import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { proxyFor } from '@muster/link/site-proxy'
import { ConnectProxy } from '@muster/link/testing'
import { describe, expect, it } from 'vitest'
import { createDeviceCertificate } from './certificate.ts'
import { runCli } from './cli.ts'
import { connectToHub, type HubCredentials } from './hub-connection.ts'
import { adviceOn } from './refusal.ts'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`
const portOf = (hub: FakeHub) => Number(new URL(hub.url).port)
const credentialsOf = (hubUrl: string, proxyUrl: string): HubCredentials => ({
  hubUrl,
  token: TOKEN,
  fingerprint: 'd_sk_y',
  certificate: createDeviceCertificate(),
  acceptInvalidCertificates: true,
  proxy: { url: proxyUrl, source: 'proxy-url' },
})

describe('D7: a proxy', () => {
  it.each(['https', 'http'])('leads to a hub over %s whose name only the proxy knows', async scheme => {
    await using proxy = await ConnectProxy.start()
    await using hub = await FakeHub.start(scheme === 'https' ? createDeviceCertificate('hub') : undefined)
    proxy.credentials = 'crane:s3cr@t'
    proxy.ports.set('hub.test:6878', portOf(hub))
    const proxyUrl = proxy.url.replace('s3cr@t', 's3cr%40t')
    const device = credentialsOf(`${scheme}://hub.test:6878`, proxyUrl)
    const { link } = await connectToHub(device, { isRegistered: true })
    await link.open('executor')
    link.close()
    expect(proxy.targets).toEqual(['hub.test:6878'])
    hub.refusals.push({ status: 403, body: '{"message":"certificate is pending"}' })
    const refusal = await connectToHub(device, { isRegistered: true }).catch((error: unknown) => error)
    const origin = new URL(proxyUrl).origin
    expect(adviceOn(refusal)).toBe(
      `certificate is pending: accept it in the console (the hub says 403 "certificate is pending" through the proxy ${origin} (proxy-url))`,
    )
  })

  it.each<[string, RegExp, (proxy: ConnectProxy) => unknown]>([
    [
      'wants other credentials',
      /it wants other credentials \(407\), see proxy-url/,
      proxy => (proxy.credentials = 'a:b'),
    ],
    ['refuses the hub', /it answered 502 Bad Gateway/, () => {}],
    ['never answers', /no answer within 0.3 s/, proxy => (proxy.fault = () => {})],
    [
      'answers byte by byte',
      /no answer within 0.3 s/,
      proxy =>
        (proxy.fault = client => {
          client.write('HTTP/1.1 200 OK\r\nx: ')
          const timer = setInterval(() => client.write('x'), 50)
          client.on('close', () => clearInterval(timer))
        }),
    ],
    [
      'answers with a page',
      /it answered with a page of its own/,
      proxy => (proxy.fault = client => client.end('HTTP/1.1 200 OK\r\n\r\n<html>Sign in</html>')),
    ],
    [
      'answers with an endless head',
      /Header|overflow/i,
      proxy => (proxy.fault = client => client.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`)),
    ],
    ['closes the connection', /socket hang up|ECONNRESET/, proxy => (proxy.fault = client => client.end())],
    ['is away', /ECONNREFUSED/, proxy => proxy[Symbol.asyncDispose]()],
  ])('that %s does not keep the device from connecting directly', async (_what, reason, spoil) => {
    await using stack = new AsyncDisposableStack()
    const proxy = await ConnectProxy.start()
    const isAway = _what === 'is away'
    if (!isAway) stack.use(proxy)
    await using hub = await FakeHub.start(createDeviceCertificate('hub'))
    const proxyUrl = proxy.url.replace('//', '//crane:s3cret@')
    await spoil(proxy)
    const failures: string[] = []
    const { link } = await connectToHub(credentialsOf(hub.url, proxyUrl), {
      isRegistered: true,
      proxyTimeoutMs: 300,
      onProxyFailure: ({ message }) => failures.push(message),
    })
    await link.open('executor')
    link.close()
    expect(failures).toEqual([expect.stringMatching(reason)])
    expect(failures[0]).toContain(`${new URL(proxyUrl).origin} (proxy-url)`)
    expect(failures[0]).not.toContain('s3cret')
  })

  it('that leads to another TLS server, and a hub that is away, are both named', async () => {
    await using proxy = await ConnectProxy.start()
    const { certificatePem: cert, keyPem: key } = createDeviceCertificate('portal')
    const portal = createTlsServer({ cert, key }).listen(0, '127.0.0.1')
    await new Promise(resolve => portal.once('listening', resolve))
    proxy.ports.set('hub.test:443', (portal.address() as { port: number }).port)
    const device = { ...credentialsOf('https://hub.test', proxy.url), acceptInvalidCertificates: false }
    await expect(connectToHub(device, { isRegistered: true })).rejects.toThrow(
      /^found no connection to hub.test:443 through the proxy http:\/\/127.0.0.1:\d+ \(proxy-url\): .*self-signed.*; directly: .*hub.test/,
    )
    portal.close()
  })

  it('of the configuration or the environment is named by `doctor`, without its password', async () => {
    await using folder = await temporaryFolder()
    await using proxy = await ConnectProxy.start()
    await using hub = await FakeHub.start()
    proxy.ports.set('hub.test:80', portOf(hub))
    const doctor = async (environment: Record<string, string>, ...options: string[]) => {
      let [out, err] = ['', '']
      const code = await runCli(
        [
          'doctor',
          '--hub',
          'http://hub.test',
          '--dangerous-allow-plaintext',
          '--token',
          TOKEN,
          '--data',
          folder.path,
          ...options,
        ],
        {
          out: text => (out += text),
          err: text => (err += text),
          input: () => process.stdin,
          signal: new AbortController().signal,
          environment,
        },
      )
      return { code, out, err }
    }
    proxy.credentials = 'crane:s3cret'
    const { code, out } = await doctor({ http_proxy: proxy.url })
    const origin = new URL(proxy.url).origin
    expect(out).toMatch(`Proxy: the proxy ${origin} (HTTP_PROXY)\nThrough the proxy: connected as d_`)
    expect(out).toMatch(/Directly: .*hub.test/)
    expect(code).toBe(0)
    expect(await doctor({}, '--proxy-url', proxy.url)).toMatchObject({ code: 0 })
    expect(await doctor({ http_proxy: proxy.url, NO_PROXY: '.test' })).toMatchObject({
      code: 1,
      out: expect.stringContaining('Proxy: none'),
      err: expect.stringContaining('found no way to the hub'),
    })
    expect(await doctor({ HTTP_PROXY: 'socks5://crane:s3cret@127.0.0.1:1' })).toMatchObject({
      code: 1,
      out: expect.stringContaining('expected HTTP_PROXY as http://HOST:PORT'),
    })
    const wrong = await doctor({}, '--proxy-url', 'socks5://crane:s3cret@127.0.0.1:1')
    expect(wrong.err).toContain('--proxy-url: found another text, expected the address of a proxy')
    expect(`${out}${wrong.err}`).not.toContain('s3cret')
    const config = join(folder.path, 'agent.toml')
    await writeFile(
      config,
      `hub-url = "http://hub.test"\ntoken = "${TOKEN}"\nfingerprint-script = "/bin/hostname"\ndangerous-allow-plaintext = true\nproxy-url = "${proxy.url}"\nssl-cert = "c.pem"\nssl-key = "k.pem"\n`,
    )
    const targets = proxy.targets.length
    await runCli(['device', 'id', '--config', config], {
      out: () => {},
      err: () => {},
      input: () => process.stdin,
      signal: new AbortController().signal,
      environment: {},
    })
    expect(proxy.targets.length).toBe(targets + 1)
  })
})

describe('D7: NO_PROXY', () => {
  it.each([
    ['https://hub.example.com', 'example.com', false],
    ['https://hub.example.com', '.example.com', false],
    ['https://hub.example.com', '*.example.com', false],
    ['https://hub.example.com', 'a.test, hub.example.com', false],
    ['https://hub.example.com', 'hub.example.com:443', false],
    ['https://hub.example.com', 'hub.example.com:8443', true],
    ['https://hub.example.com', 'ample.com', true],
    ['https://hub.example.com', '*', false],
    ['https://10.1.2.3:6878', '10.0.0.0/8', false],
    ['https://11.1.2.3:6878', '10.0.0.0/8', true],
    ['https://[fd00::5]', 'fd00::/8', false],
    ['https://[fd00::5]', '[fd00::5]:443', false],
    ['https://hub.example.com', '10.0.0.0/99,,:', true],
  ])('for %s with %s', (target, noProxy, isUsed) => {
    const environment = { HTTPS_PROXY: 'proxy:3128', NO_PROXY: noProxy }
    expect(proxyFor(target, { environment, isLocal: false })).toEqual(
      isUsed ? { url: 'http://proxy:3128', source: 'HTTPS_PROXY' } : undefined,
    )
  })
})

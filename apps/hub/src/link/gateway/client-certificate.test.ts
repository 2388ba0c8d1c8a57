import type { IncomingMessage } from 'node:http'
import { networkInterfaces } from 'node:os'
import { connectDevice, deviceIdentity, testHub } from '@muster/testkit'
import { describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../../platform/config/config.ts'
import { remoteReader } from '../../platform/net/trusted-proxy.ts'
import { certificateReader } from './client-certificate.ts'

const NOT_BELIEVED = {
  status: 403,
  kind: 'Forbidden',
  message: 'a certificate in X-Client-Cert is not believed on this connection; expected HTTPS',
}
const SECRET = 'a secret of sixteen'
const PUBLIC = { publicUrl: 'https://hub.example' }
const { certificatePem } = await deviceIdentity()

/** Reads the fingerprint of the certificate of a simulated request that comes from `remoteAddress`. */
function read(
  settings: Partial<Config>,
  remoteAddress: string,
  headers: Record<string, string> = {},
): string {
  const request = {
    headers: { 'x-client-cert': encodeURIComponent(certificatePem), ...headers },
    socket: { remoteAddress },
  } as unknown as IncomingMessage
  return certificateReader({ ...loadConfig({}), ...settings })(request).fingerprint
}

describe('X-Client-Cert', () => {
  it.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])(
    'is believed from %s by a hub with a loopback public URL',
    address => {
      for (const publicUrl of [
        'http://localhost:6878',
        'http://127.0.0.1:6878',
        'http://[::1]:6878',
        'http://hub.localhost',
      ])
        expect(read({ publicUrl }, address)).toMatch(/^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/)
    },
  )

  it.each(['10.0.0.7', '192.168.1.2', '::ffff:10.0.0.7', 'fe80::1', '2001:db8::1', '128.0.0.1', ''])(
    'is not believed from %s by a hub with a loopback public URL',
    address => expect(() => read({}, address)).toThrow(expect.objectContaining(NOT_BELIEVED)),
  )

  it('is not believed from loopback by a hub with any other public URL', () => {
    for (const publicUrl of ['https://hub.example', 'http://localhost.example', 'http://127.0.0.1.example'])
      expect(() => read({ publicUrl }, '127.0.0.1')).toThrow(expect.objectContaining(NOT_BELIEVED))
  })

  it('is believed from any address when plaintext devices are allowed', () => {
    expect(read({ ...PUBLIC, allowPlaintextDevices: true }, '203.0.113.9')).toHaveLength(95)
  })

  const proxied = {
    ...PUBLIC,
    trustedProxies: ['10.1.0.0/16', '2001:db8::/32', '127.0.0.1'],
    proxySecret: SECRET,
  }

  it.each(['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::7', '127.0.0.1'])(
    'is believed from the trusted proxy %s with its secret',
    address => expect(read(proxied, address, { 'x-muster-proxy-secret': SECRET })).toHaveLength(95),
  )

  it.each<[string, string, Record<string, string>]>([
    ['from a trusted proxy without the secret', '10.1.2.3', {}],
    ['from a trusted proxy with an empty secret', '10.1.2.3', { 'x-muster-proxy-secret': '' }],
    [
      'from a trusted proxy with a wrong secret',
      '10.1.2.3',
      { 'x-muster-proxy-secret': 'a secret of sixteeN' },
    ],
    ['from a trusted proxy with a longer secret', '10.1.2.3', { 'x-muster-proxy-secret': `${SECRET}!` }],
    ['from an untrusted IPv4 address', '10.2.2.3', { 'x-muster-proxy-secret': SECRET }],
    ['from an untrusted IPv6 address', '2001:db9::7', { 'x-muster-proxy-secret': SECRET }],
  ])('is not believed %s', (_what, address, headers) => {
    expect(() => read(proxied, address, headers)).toThrow(expect.objectContaining(NOT_BELIEVED))
  })

  it('is not believed from any proxy when no secret is configured', () => {
    const settings = { ...PUBLIC, trustedProxies: ['10.1.0.0/16'], proxySecret: undefined }
    for (const secret of ['', 'undefined', SECRET])
      expect(() => read(settings, '10.1.2.3', { 'x-muster-proxy-secret': secret })).toThrow(
        expect.objectContaining(NOT_BELIEVED),
      )
  })
})

describe('a real connection', () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find(address => address?.family === 'IPv4' && !address.internal)?.address

  it.runIf(outside)('from a non-loopback address is refused although it sends a certificate', async () => {
    await using hub = await testHub({ host: '0.0.0.0' })
    const { token } = await hub.fleet()
    const url = `http://${outside}:${hub.address.port}`
    await expect(connectDevice({ url, token })).rejects.toMatchObject({
      status: 403,
      body: JSON.stringify({ kind: NOT_BELIEVED.kind, message: NOT_BELIEVED.message }),
    })
    await using device = await connectDevice({ url: hub.url, token })
    expect(device.deviceId).toMatch(/^d_/)
  })

  it('through a trusted proxy is accepted with the secret and refused without it', async () => {
    await using hub = await testHub({ ...PUBLIC, trustedProxies: ['127.0.0.1'], proxySecret: SECRET })
    const { token } = await hub.fleet()
    await expect(connectDevice({ url: hub.url, token })).rejects.toMatchObject({ status: 403 })
    const headers = { 'x-muster-proxy-secret': SECRET }
    await using device = await connectDevice({ url: hub.url, token, headers })
    expect(device.deviceId).toMatch(/^d_/)
  })
})

describe('the address in the log', () => {
  const remoteOf = (
    settings: Partial<Config>,
    remoteAddress?: string,
    headers: Record<string, string> = {},
  ): string =>
    remoteReader({ ...loadConfig({}), ...settings })({
      headers,
      socket: { remoteAddress },
    } as unknown as IncomingMessage)

  it('is the address of the peer, without the prefix of an IPv4-mapped address', () => {
    expect(remoteOf({}, '::ffff:10.0.0.7')).toBe('10.0.0.7')
    expect(remoteOf({}, '2001:db8::7', { 'x-forwarded-for': '10.0.0.8' })).toBe('2001:db8::7')
    expect(remoteOf({}, undefined)).toBe('')
  })

  it('is the last address in X-Forwarded-For of a trusted proxy', () => {
    const settings = { trustedProxies: ['10.1.0.0/16'], proxySecret: SECRET }
    const forwarded = { 'x-forwarded-for': 'nonsense, 203.0.113.9, 198.51.100.7' }
    const secret = { 'x-muster-proxy-secret': SECRET }
    expect(remoteOf(settings, '10.1.0.1', { ...forwarded, ...secret })).toBe('198.51.100.7')
    expect(remoteOf(settings, '10.1.0.1', forwarded)).toBe('10.1.0.1')
    expect(remoteOf(settings, '10.2.0.1', { ...forwarded, ...secret })).toBe('10.2.0.1')
    expect(remoteOf(settings, '10.1.0.1', { 'x-forwarded-for': 'nonsense', ...secret })).toBe('10.1.0.1')
  })
})

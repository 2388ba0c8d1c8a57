import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, it } from 'vitest'
import { simulatedIdentity } from './simulated-identity.ts'

it('is the same for the same seed and number, and different for others', () => {
  const texts = ['1/0', '1/1', '2/0', '1/10'].map(key => {
    const [seed, index] = key.split('/') as [string, string]
    const { fingerprint, certificate } = simulatedIdentity(seed, Number(index))
    const again = simulatedIdentity(seed, Number(index))
    expect(again.fingerprint).toBe(fingerprint)
    expect(again.certificate.certificatePem).toBe(certificate.certificatePem)
    return [fingerprint, certificate.certificatePem]
  })
  expect(new Set(texts.flat()).size).toBe(8)
})

it('stays the same between releases', () => {
  const { fingerprint, certificate } = simulatedIdentity('1', 0)
  expect(fingerprint).toBe('d_sk_Xy7HHzdrZkuXc2dsfxHStYmqhm5mvdUWtQoTnYBxXduE')
  expect(new X509Certificate(certificate.certificatePem).fingerprint256).toBe(
    'CA:A2:B3:18:8F:E0:62:1B:D8:A7:0E:C2:66:01:C7:CA:DF:69:38:93:B2:8F:C4:C8:F0:0B:FE:86:E3:AB:AE:1F',
  )
})

it('makes self-signed certificates with a valid signature', () => {
  for (let index = 0; index < 50; index++) {
    const { certificate } = simulatedIdentity('signature', index)
    const parsed = new X509Certificate(certificate.certificatePem)
    expect(parsed.verify(parsed.publicKey)).toBe(true)
    expect(parsed.subject).toBe(`CN=muster simulator ${index}`)
  }
  const { certificate } = simulatedIdentity('signature', 0)
  expect(
    new X509Certificate(certificate.certificatePem).checkPrivateKey(createPrivateKey(certificate.keyPem)),
  ).toBe(true)
})

it('makes the identities of 2,000 devices quickly', () => {
  const start = process.threadCpuUsage()
  for (let index = 0; index < 2000; index++) simulatedIdentity('speed', index)
  expect(process.threadCpuUsage(start).user / 1000).toBeLessThan(10_000)
})

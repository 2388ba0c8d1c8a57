import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { chmod, mkdir, readdir, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createDeviceCertificate, loadDeviceCertificate } from './certificate.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

describe('createDeviceCertificate', () => {
  it('makes a self-signed P-256 certificate in the form of the public agent', () => {
    const { certificatePem, keyPem } = createDeviceCertificate('unit test')
    const certificate = new X509Certificate(certificatePem)
    expect(certificate.subject).toBe('CN=unit test')
    expect(certificate.issuer).toBe('CN=unit test')
    expect(certificate.validFromDate.toISOString()).toBe('1975-01-01T00:00:00.000Z')
    expect(certificate.validToDate.toISOString()).toBe('4096-01-01T00:00:00.000Z')
    expect(certificate.ca).toBe(false)
    expect(certificate.subjectAltName).toBeUndefined()
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' })
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.checkIssued(certificate)).toBe(true)
    expect(certificate.checkPrivateKey(createPrivateKey(keyPem))).toBe(true)
    // DER of the critical extension basic constraints with CA:FALSE, and the start of the extension subject key identifier.
    expect(certificate.raw.includes(Buffer.from('0603551d130101ff04023000', 'hex'))).toBe(true)
    expect(certificate.raw.includes(Buffer.from('0603551d0e04160414', 'hex'))).toBe(true)
  })

  it('makes a different one each time', () => {
    const [one, other] = [createDeviceCertificate(), createDeviceCertificate()]
    expect(new X509Certificate(one.certificatePem).serialNumber).not.toBe(
      new X509Certificate(other.certificatePem).serialNumber,
    )
    expect(one.keyPem).not.toBe(other.keyPem)
  })
})

describe('loadDeviceCertificate', () => {
  async function paths() {
    const folder = await temporaryFolder()
    return { ...folder, cert: join(folder.path, 'ssl', 'cert.pem'), key: join(folder.path, 'ssl', 'key.pem') }
  }

  it('creates a pair that only the owner may read, and finds it again', async () => {
    await using at = await paths()
    const made = await loadDeviceCertificate(at.cert, at.key)
    expect(await loadDeviceCertificate(at.cert, at.key)).toEqual(made)
    expect((await stat(at.cert)).mode & 0o777).toBe(0o600)
    expect((await stat(at.key)).mode & 0o777).toBe(0o600)
  })

  it('creates a single pair for processes that start together', async () => {
    await using at = await paths()
    const all = await Promise.all(Array.from({ length: 6 }, () => loadDeviceCertificate(at.cert, at.key)))
    expect(new Set(all.map(each => each.certificatePem)).size).toBe(1)
  })

  it('restricts a key that others could read', async () => {
    await using at = await paths()
    await loadDeviceCertificate(at.cert, at.key)
    await chmod(at.key, 0o644)
    await loadDeviceCertificate(at.cert, at.key)
    expect((await stat(at.key)).mode & 0o777).toBe(0o600)
  })

  it('completes a start that was interrupted after storing the key, even in several processes at once', async () => {
    await using at = await paths()
    const { keyPem } = await loadDeviceCertificate(at.cert, at.key)
    await unlink(at.cert)
    const all = await Promise.all(Array.from({ length: 6 }, () => loadDeviceCertificate(at.cert, at.key)))
    expect(new Set(all.map(each => each.certificatePem)).size).toBe(1)
    expect(all[0]!.keyPem).toBe(keyPem)
    expect(await loadDeviceCertificate(at.cert, at.key)).toEqual(all[0])
  })

  it('completes the pair when the certificate can be stored again', async () => {
    await using at = await paths()
    const cert = join(at.path, 'certificates', 'cert.pem')
    await symlink(join(at.path, 'missing'), join(at.path, 'certificates'))
    await expect(loadDeviceCertificate(cert, at.key)).rejects.toThrow('ssl-cert: found')
    await mkdir(join(at.path, 'missing'))
    await loadDeviceCertificate(cert, at.key)
    expect(await readdir(join(at.path, 'ssl'))).toEqual(['key.pem'])
  })

  it('refuses a certificate without its key, and a key without certificate that it did not create', async () => {
    await using at = await paths()
    await loadDeviceCertificate(at.cert, at.key)
    await unlink(at.key)
    await expect(loadDeviceCertificate(at.cert, at.key)).rejects.toThrow(`found ${at.cert} without ${at.key}`)
    await unlink(at.cert)
    const { privateKey } = generateKeyPairSync('ed25519')
    await writeFile(at.key, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await expect(loadDeviceCertificate(at.cert, at.key)).rejects.toThrow(
      `found ${at.key} without ${at.cert}, expected both`,
    )
  })

  it('refuses files with other content and keys of other certificates', async () => {
    await using at = await paths()
    await loadDeviceCertificate(at.cert, at.key)
    await writeFile(at.key, createDeviceCertificate().keyPem)
    await expect(loadDeviceCertificate(at.cert, at.key)).rejects.toThrow(
      `expected the key of the certificate in ${at.cert}`,
    )
    await writeFile(at.key, 'junk')
    await expect(loadDeviceCertificate(at.cert, at.key)).rejects.toThrow('ssl-key: found')
    await writeFile(at.cert, 'junk')
    await expect(loadDeviceCertificate(at.cert, at.key)).rejects.toThrow('ssl-cert: found')
  })
})

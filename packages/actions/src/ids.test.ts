import { createHash, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import type { z } from 'zod'
import { BASE58, encodeRadix, newDatedId, newId, publicIdOf, randomBase58 } from './id-texts.ts'
import {
  ClusterNodeId,
  DeploymentToken,
  DeploymentTokenId,
  DeviceBlockId,
  DeviceCertificateId,
  DeviceConnectionId,
  DeviceEventId,
  DeviceFingerprint,
  DeviceFingerprintId,
  DeviceId,
  DeviceViewId,
  OrganizationId,
  ProjectId,
  UserId,
  UserSessionId,
  UserSessionToken,
  UserToken,
  UserTokenId,
  WebhookId,
} from './ids.ts'
import { CertificateFingerprint } from './scalars.ts'

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz'

const FLAT: [prefix: string, schema: z.ZodType, length: number][] = [
  ['cluster_node', ClusterNodeId, 22],
  ['u', UserId, 22],
  ['u_sk', UserToken, 66],
  ['u_pk', UserTokenId, 22],
  ['u_session_sk', UserSessionToken, 66],
  ['u_session_pk', UserSessionId, 22],
  ['p', ProjectId, 22],
  ['deployment', DeploymentToken, 66],
  ['deployment_id', DeploymentTokenId, 22],
  ['d', DeviceId, 22],
  ['d_sk', DeviceFingerprint, 44],
  ['d_pk', DeviceFingerprintId, 22],
  ['d_c', DeviceCertificateId, 22],
  ['d_conn', DeviceConnectionId, 22],
  ['d_block', DeviceBlockId, 22],
  ['view', DeviceViewId, 22],
  ['wh', WebhookId, 22],
  ['org', OrganizationId, 22],
]

const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success

describe('an id (protocol 6.1)', () => {
  it.each(FLAT)(
    'with the prefix %s has that prefix, its exact length and base-58 only',
    (prefix, schema, length) => {
      const raw = randomBase58(length)
      expect(accepts(schema, `${prefix}_${raw}`)).toBe(true)
      const wrong = [
        raw,
        `${prefix}${raw}`,
        `${prefix}_${raw.slice(1)}`,
        `${prefix}_${raw}1`,
        `${prefix.toUpperCase()}_${raw}`,
        `x${prefix}_${raw}`,
        ` ${prefix}_${raw}`,
        `${prefix}_${raw}\n`,
        `${prefix}_${raw} `,
        `${prefix}_${raw}\0`,
        ...[...'0OIl_-+é '].map(char => `${prefix}_${raw.slice(1)}${char}`),
        '',
        null,
        undefined,
        22,
        [`${prefix}_${raw}`],
        { toString: () => `${prefix}_${raw}` },
      ]
      for (const value of wrong) expect(accepts(schema, value), JSON.stringify(value)).toBe(false)
    },
  )

  it('is of one kind only', () => {
    for (const [prefix, , length] of FLAT) {
      const id = `${prefix}_${randomBase58(length)}`
      expect(FLAT.filter(([, schema]) => accepts(schema, id)).map(([of]) => of)).toEqual([prefix])
    }
  })

  it('is refused with a message that says what was expected', () => {
    expect(DeviceId.safeParse('x').error?.issues[0]?.message).toBe(
      'expected a device id: d_ and 22 base-58 characters',
    )
  })

  it('accepts the samples of the protocol', () => {
    expect(accepts(UserId, 'u_aRWXQ2NyrvUXu4yikTrQvY')).toBe(true)
    expect(accepts(DeploymentTokenId, 'deployment_id_H3CwhLpqjTTt1An8PR7aCw')).toBe(true)
    expect(accepts(DeviceEventId, 'd_ev_20251128-1203-17czX8X1')).toBe(true)
  })

  it('with a date is checked for digits, not for the calendar (protocol 6.2)', () => {
    for (const id of [
      'd_ev_20251128-1203-17czX8X1',
      'd_ev_00000000-0000-11111111',
      'd_ev_99999999-9999-zzzzzzzz',
    ])
      expect(accepts(DeviceEventId, id), id).toBe(true)
    for (const id of [
      'd_ev_2025112-1203-17czX8X1',
      'd_ev_202511281203-17czX8X1',
      'd_ev_20251128-1203-17czX8X',
      'd_ev_20251128-1203-17czX8X11',
      'd_ev_20251128-1203-17czX8X0',
      'd_ev_２０２５1128-1203-17czX8X1',
      'audit_ev_20251128-1203-1Z4bAHA5',
    ])
      expect(accepts(DeviceEventId, id), id).toBe(false)
  })
})

describe('a new id (protocol 6.2)', () => {
  const kinds = [
    'cluster_node',
    'u',
    'org',
    'p',
    'd',
    'd_c',
    'd_conn',
    'd_block',
    'view',
    'u_sk',
    'u_session_sk',
    'deployment',
  ] as const

  it.each(kinds)('of kind %s is one that the hub and its clients accept', kind => {
    const [, schema] = FLAT.find(([prefix]) => prefix === kind)!
    for (let count = 0; count < 200; count++) expect(accepts(schema, newId(kind))).toBe(true)
  })

  it('draws every character of the alphabet equally often', () => {
    const text = Array.from({ length: 58 }, () => randomBase58(1_000)).join('')
    expect(text).toHaveLength(58_000)
    for (const char of BASE58) {
      const count = text.split(char).length - 1
      expect(count, char).toBeGreaterThan(800)
      expect(count, char).toBeLessThan(1_200)
    }
  })

  it('is never repeated', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newId('d'))).size).toBe(10_000)
  })

  it('with a date contains the UTC minute', () => {
    const at = new Date('2025-12-31T23:59:59.999-02:00')
    expect(newDatedId('audit_ev', at)).toMatch(/^audit_ev_20260101-0159-[1-9A-HJ-NP-Za-km-z]{8}$/)
    expect(newDatedId('d_ev')).toMatch(/^d_ev_\d{8}-\d{4}-.{8}$/)
  })
})

describe('the public id of a secret (protocol 6.3)', () => {
  it.each([
    ['u_sk', 'u_pk'],
    ['u_session_sk', 'u_session_pk'],
    ['deployment', 'deployment_id'],
    ['d_sk', 'd_pk'],
  ])('of %s is %s with the first 22 characters', (secret, id) => {
    const raw = randomBase58(66)
    expect(publicIdOf(`${secret}_${raw}`)).toBe(`${id}_${raw.slice(0, 22)}`)
  })

  it.each(['org_sk_x', 'nothing', '', '_', 'constructor_x', '__proto___x', 'toString_x'])(
    'does not exist for %j, and the error does not repeat the secret part',
    text => {
      expect(() => publicIdOf(text)).toThrow(/^no public id for secrets of kind "/)
    },
  )
})

describe('a device fingerprint (protocol 6.4)', () => {
  const fingerprintOf = (stdout: string): string =>
    `d_sk_${encodeRadix(createHash('sha512-256').update(stdout).digest(), BASE58)}`

  it.each([
    ['abc', 'd_sk_6BQUZrqBEiScJvnefdnSDXDBrr6DfPSUiWNNS7wXu5R3', 'd_pk_6BQUZrqBEiScJvnefdnSDX'],
    ['', 'd_sk_bfHieWDWVpvKHqjSMpzD8y1DzfmUwhj3s5VoZMf8HJH9', 'd_pk_bfHieWDWVpvKHqjSMpzD8y'],
    [
      'b08dfa6083e7567a1921a715000001fb\n',
      'd_sk_eDQ4BQ7BWdoCddDqo5SNZPHLnKASePmqB3g9pN9UD257',
      'd_pk_eDQ4BQ7BWdoCddDqo5SNZP',
    ],
    [
      'b08dfa6083e7567a1921a715000001fb',
      'd_sk_xrvvU4RtUUnnNTEMfgjYL8HQRrBPLGY1hsE7DWGRx1w6',
      'd_pk_xrvvU4RtUUnnNTEMfgjYL8',
    ],
    [
      '10000000abcdef01\0',
      'd_sk_p8PyT9T13upbz7c35D9aQaPDWH1XqrvKer6YzkdD4m2E',
      'd_pk_p8PyT9T13upbz7c35D9aQa',
    ],
  ])('of a script that prints %j is the one that agents compute', (stdout, fingerprint, id) => {
    expect(fingerprintOf(stdout)).toBe(fingerprint)
    expect(publicIdOf(fingerprint)).toBe(id)
    expect(accepts(DeviceFingerprint, fingerprint)).toBe(true)
  })

  it('has 44 characters of the alphabet, whatever the 32 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
        expect(accepts(DeviceFingerprint, `d_sk_${encodeRadix(bytes, BASE58)}`)).toBe(true)
      }),
      { seed: inject('fuzzSeed') },
    )
  })

  it('has a length that follows from the number of bytes alone, none for none', () => {
    expect(encodeRadix(new Uint8Array(), BASE58)).toBe('')
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        expect(encodeRadix(bytes, BASE58)).toHaveLength(
          encodeRadix(new Uint8Array(bytes.length), BASE58).length,
        )
      }),
      { seed: inject('fuzzSeed') },
    )
  })
})

describe('a certificate fingerprint (protocol 6.5)', () => {
  const PEM = `-----BEGIN CERTIFICATE-----
MIIBbjCCARSgAwIBAgICEjQwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLdGVzdCBk
ZXZpY2UwIBcNMjYxMTIxMDIwODM2WhgPMjEyNjEwMjgwMjA4MzZaMBYxFDASBgNV
BAMMC3Rlc3QgZGV2aWNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE23mbezwf
U0vfGj6lOq1POFC8mqf/tUBtqDXRvk6cixn9yf2pW4ilKHH/lPJHawQ6snN7ncib
XdNrsN0FTyzR6aNQME4wHQYDVR0OBBYEFA25CsQMFnZJKJeSp4W5D6XgxJwyMB8G
A1UdIwQYMBaAFA25CsQMFnZJKJeSp4W5D6XgxJwyMAwGA1UdEwEB/wQCMAAwCgYI
KoZIzj0EAwIDSAAwRQIhALObWSFtRuhMbyVDbarhogALRGuyp9eDLrcXvKnu+v1y
AiBraADt3uC33bvBB7rfvNkx2cU8rri36LqfLjsBaki+2A==
-----END CERTIFICATE-----`
  const FINGERPRINT =
    '41:27:54:CE:66:1D:40:01:FA:D5:08:AA:5A:A6:F2:49:A3:CE:E8:7D:56:93:DA:B1:0E:83:00:44:44:AA:6F:60'

  it('equals the output of OpenSSL and Node, accepted in any case and kept in upper case', () => {
    expect(new X509Certificate(PEM).fingerprint256).toBe(FINGERPRINT)
    expect(CertificateFingerprint.parse(FINGERPRINT)).toBe(FINGERPRINT)
    expect(CertificateFingerprint.parse(FINGERPRINT.toLowerCase())).toBe(FINGERPRINT)
  })

  it.each([
    FINGERPRINT.replaceAll(':', ''),
    FINGERPRINT.replaceAll(':', '-'),
    FINGERPRINT.slice(3),
    `${FINGERPRINT}:00`,
    `${FINGERPRINT}\n`,
    FINGERPRINT.replace('41', '4G'),
    'AA:66:7C:BE:17:6B:14:56:4F:D4:A9:72:B8:9E:8A:B4:2E:AF:8B:D8',
    '',
    null,
  ])('is not %j', text => {
    expect(accepts(CertificateFingerprint, text)).toBe(false)
  })
})

describe('the host label of an id (protocol 6.6)', () => {
  const labelOf = (id: string): string => encodeRadix(createHash('sha256').update(id).digest(), BASE36)

  it('matches the vectors of the protocol', () => {
    expect(labelOf('d_z7L73xZdkkMgwbAmTVcyXu')).toBe('ywyuqb7kr1e2cnntgfl0kiagsik4rzg13i7p2loi54hrskulj2')
  })

  it('is always a valid DNS label of 50 characters', () => {
    for (let count = 0; count < 100; count++) expect(labelOf(newId('d'))).toMatch(/^[0-9a-z]{50}$/)
  })
})

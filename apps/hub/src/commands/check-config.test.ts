import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCertificate } from '@muster/link/certificate'
import { afterAll, expect, it } from 'vitest'
import { runHere } from './testing/run-here.ts'

const root = await mkdtemp(join(tmpdir(), 'muster-check-'))
afterAll(() => rm(root, { recursive: true }))

it('accepts settings that a start accepts, and creates nothing', async () => {
  const settings = { MUSTER_DATA_DIR: join(root, 'new/data'), MUSTER_PORT: '7000' }
  expect(await runHere(['check-config'], settings)).toEqual({
    code: 0,
    out: 'The hub can start with these settings.\n',
    err: '',
  })
  expect(JSON.parse((await runHere(['check-config', '--json'], settings)).out)).toEqual({
    problems: [],
    warnings: [],
  })
})

it('names retired settings, which a start ignores', async () => {
  const settings = { MUSTER_DATA_DIR: join(root, 'new/data'), MUSTER_MAX_DESCRIPTORS: 'many' }
  const { code, out } = await runHere(['check-config'], settings)
  expect({ code, out }).toEqual({
    code: 0,
    out: 'Warning: MUSTER_MAX_DESCRIPTORS is retired and ignored: set the limit of open files of the process (LimitNOFILE of the service).\nThe hub can start with these settings.\n',
  })
})

it('lists every problem of settings and their files, each once, and no secret', async () => {
  const file = join(root, 'file')
  await writeFile(file, 'no folder')
  const settings = {
    MUSTER_PORT: 'http',
    MUSTER_SIGNUP: 'never',
    MUSTER_LIMIT_PERSON_TOKENS: '0',
    // Invalid, so that its absence is no further problem.
    MUSTER_PROXY_SECRET: 'hunter2',
    MUSTER_TRUSTED_PROXIES: '10.0.0.1',
    MUSTER_NATS_URL: 'nats://10.0.0.2',
    MUSTER_S3_BUCKET: 'bucket',
    MUSTER_TLS_CERT: join(root, 'absent.pem'),
    MUSTER_TLS_KEY: join(root, 'absent.key'),
    MUSTER_OPERATOR_PORT: '9000',
    MUSTER_OPERATOR_HOST: '10.0.0.3',
    MUSTER_PUBLIC_URL: 'https://hub.example.com',
    MUSTER_PROXY_DOMAIN: 'devices.example.com',
    MUSTER_DATA_DIR: join(file, 'data'),
    MUSTER_SMTP_RUL: 'smtp://typo',
  }
  const { code, out, err } = await runHere(['check-config'], settings)
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(out.split('\n')).toEqual([
    'MUSTER_PORT: found "http", expected a port number.',
    'MUSTER_PROXY_SECRET: found a value that is not shown, expected at least 16 ASCII characters without blanks around them.',
    'MUSTER_SIGNUP: found "never", expected open, invite or closed.',
    'MUSTER_LIMIT_PERSON_TOKENS: found "0", expected a whole number of tokens from 1 to 1000000.',
    'MUSTER_DATABASE_URL: found nothing, expected a database that all nodes use because MUSTER_NATS_URL is set.',
    'MUSTER_S3_ENDPOINT: found nothing, expected a value because MUSTER_S3_BUCKET is set.',
    `MUSTER_TLS_CERT: found ${join(root, 'absent.pem')} (ENOENT), expected a certificate in PEM.`,
    `MUSTER_DATA_DIR: found ${join(file, 'data')} (ENOTDIR), expected a folder that can be written.`,
    'Warning: MUSTER_SMTP_RUL is not a setting of this hub.',
    expect.stringMatching(/^Warning: MUSTER_PROXY_DOMAIN: found devices\.example\.com, on the same site as /),
    '',
  ])

  await writeFile(join(root, 'instance-key'), 'damaged')
  await writeFile(join(root, 'cert.pem'), createCertificate('hub').certificatePem)
  await writeFile(join(root, 'other.key'), createCertificate('hub').keyPem)
  const files = await runHere(['check-config', '--json'], {
    MUSTER_DATA_DIR: root,
    MUSTER_TLS_CERT: join(root, 'cert.pem'),
    MUSTER_TLS_KEY: join(root, 'other.key'),
    MUSTER_DATABASE_URL: 'postgresql://muster:hunter2@db/muster?sslmode=maybe',
  })
  expect(files.code).toBe(1)
  expect(files.out).not.toContain('hunter2')
  expect(JSON.parse(files.out)).toEqual({
    problems: [
      `MUSTER_TLS_KEY: found ${join(root, 'other.key')}, expected the key of ${join(root, 'cert.pem')}.`,
      expect.stringContaining('MUSTER_DATABASE_URL: found sslmode="maybe"'),
      expect.stringContaining('MUSTER_INSTANCE_KEY: found a damaged'),
    ],
    warnings: [],
  })
})

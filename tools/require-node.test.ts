import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

/** Runs an entry file as if in an older Node: with that version number, and without functions that the older Node lacks. */
function run(entry: string, version: string, env: NodeJS.ProcessEnv = {}) {
  const older = `
    import tls from 'node:tls'
    import { syncBuiltinESMExports } from 'node:module'
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })
    const { execve } = process
    process.execve = (path, words, environment = {}) => execve(path, words, environment)
    delete tls.setDefaultCACertificates
    syncBuiltinESMExports()`
  const options = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]
  const words = [...options, join(ROOT, entry), ...(env.MUSTER_PORT ? [] : ['--help'])]
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env })
  return { status, stdout, stderr }
}

it.each(['apps/hub/muster-hub.js', 'apps/agent/muster-agent.js', 'apps/cli/muster.js'])(
  'O5: %s refuses an older Node in one line, and runs on Node 24.0.0',
  entry => {
    for (const version of ['18.20.4', '20.20.2', '22.23.2'])
      expect(run(entry, version)).toEqual({
        status: 1,
        stdout: '',
        stderr: `Muster needs Node 24 or newer, found ${version} (${process.execPath}). In a checkout npm start, npm run agent and npm run cli bring their own.\n`,
      })
    expect(run(entry, '24.0.0')).toEqual({
      status: 0,
      stdout: expect.stringContaining('Usage: muster'),
      stderr: '',
    })
  },
)

it('O5: the hub on Node 24.0.0 gets its environment', () => {
  expect(run('apps/hub/muster-hub.js', '24.0.0', { MUSTER_PORT: 'x' })).toEqual({
    status: 1,
    stdout: '',
    stderr: 'MUSTER_PORT: found "x", expected a port number.\n',
  })
})

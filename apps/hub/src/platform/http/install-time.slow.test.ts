import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  atTerminal,
  calls,
  connected,
  files,
  filesWith,
  fleet,
  hub,
  inRoot,
  modeOf,
  pathOf,
  prepareRoots,
  root,
  script,
  withRoot,
} from './testing/install-root.ts'

prepareRoots()

withRoot(
  'installs from a prompt within a minute, runs again, and is removed without a trace',
  { timeout: 240_000 },
  async () => {
    const before = await files()
    const startedAt = performance.now()
    const terminal = await atTerminal(fleet.token)
    expect(terminal.output).not.toContain(fleet.token)
    expect(terminal.output).toContain(`for http://localhost:${hub.address.port}`)
    expect(terminal.code).toBe(0)
    const device = await connected()
    expect(performance.now() - startedAt).toBeLessThan(60_000)
    expect(terminal.seen).toEqual([])
    expect(filesWith(fleet.token)).toEqual(['etc/nexigon/agent.toml'])
    expect(await modeOf('etc/nexigon/agent.toml')).toBe('600')
    expect(await modeOf('usr/bin/muster-agent')).toBe('755')
    expect(await modeOf('etc/nexigon/agent/ssl')).toBe('700')
    expect((await files()).filter(file => !before.includes(file)).map(pathOf)).toEqual([
      'etc/nexigon/agent.toml',
      'etc/nexigon/agent/ssl/cert.pem',
      'etc/nexigon/agent/ssl/key.pem',
      'etc/systemd/system/muster-agent.service',
      'usr/bin/muster-agent',
      'usr/lib/muster-agent/agent.mjs',
      'usr/lib/muster-agent/fingerprint',
      'usr/lib/muster-agent/install.sh',
      'usr/lib/muster-agent/node',
      'var/lib/muster-agent/files',
      'var/lib/muster-agent/salt',
      'var/lib/muster-agent/source',
    ])

    const installed = await files()
    const again = await script()
    expect(again.code).toBe(0)
    expect(again.output).toContain('Keeps /etc/nexigon/agent.toml')
    expect(again.output).not.toContain('Downloads Node')
    expect(await files()).toEqual(installed)

    // The installation left a copy of the script on the device, which works without the hub.
    const removed = await inRoot('sh', '/usr/lib/muster-agent/install.sh', '--uninstall')
    expect(removed.code).toBe(0)
    const identity = [
      'etc/nexigon/agent/ssl/cert.pem',
      'etc/nexigon/agent/ssl/key.pem',
      'var/lib/muster-agent/salt',
      'var/lib/muster-agent/source',
    ]
    expect((await files()).filter(file => !before.includes(file)).map(pathOf)).toEqual([
      ...identity.slice(0, 2),
      'var/lib/muster-agent/files',
      ...identity.slice(2),
    ])
    expect(await calls()).toContain('disable --now muster-agent.service')

    // With the same identity, the hub recognizes the same device.
    await writeFile(join(root, 'root/token'), `${fleet.token}\n`, { mode: 0o600 })
    expect((await script('--token-file', '/root/token')).code).toBe(0)
    await rm(join(root, 'root/token'))
    expect((await connected()).deviceId).toBe(device.deviceId)
    expect((await script('--uninstall', '--purge')).code).toBe(0)
    expect(await files()).toEqual(before)
    expect(existsSync(join(root, 'etc/nexigon'))).toBe(false)
    expect(existsSync(join(root, 'usr/lib/muster-agent'))).toBe(false)
    expect(existsSync(join(root, 'var/lib/muster-agent'))).toBe(false)
  },
)

import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { ConnectProxy } from '@muster/link/testing'
import { ask } from '@muster/testkit'
import { expect } from 'vitest'
import { packApp } from '../../../../../tools/pack-app.ts'
import {
  calls,
  connected,
  files,
  fleet,
  forRoot,
  hub,
  inRoot,
  install,
  modeOf,
  pathOf,
  prepareRoots,
  ROOT,
  root,
  script,
  withRoot,
} from './testing/install-root.ts'

const PUBLIC_CONFIG = 'hub-url = "https://other.example"\ntoken = "deployment_of_another_hub"\n'

prepareRoots()

withRoot(
  'D7: installs through a proxy, which the agent then uses, or changes nothing and names the proxy',
  { timeout: 120_000 },
  async () => {
    const before = await files()
    await using proxy = await ConnectProxy.start()
    await writeFile(join(root, 'root/token'), `${fleet.token}\n`, { mode: 0o600 })
    const options = ['--token-file', '/root/token', '--proxy-url', proxy.url]
    const refused = await script(...options)
    expect(refused.code).toBe(1)
    const origin = new URL(proxy.url).host
    expect(refused.output).toContain(`/install/manifest through the proxy ${origin}. Nothing was changed.`)
    const odd = await script('--token-file', '/root/token', '--proxy-url', `'http://a:"x"@proxy'`)
    expect(odd.output).toContain('Found another text as the proxy')
    const target = `localhost:${hub.address.port}`
    proxy.ports.set(target, hub.address.port)
    proxy.targets.length = 0
    expect(await script(...options)).toMatchObject({ code: 0 })
    await rm(join(root, 'root/token'))
    await connected()
    expect(new Set(proxy.targets)).toEqual(new Set([target]))
    const config = await readFile(join(root, 'etc/nexigon/agent.toml'), 'utf8')
    expect(config).toContain(`proxy-url = "${proxy.url}"`)
    expect((await script('--uninstall', '--purge')).code).toBe(0)
    expect(await files()).toEqual(before)
  },
)

withRoot(
  'writes the unit of the package, and a plain one for a systemd that loses its messages',
  async () => {
    const unit = 'etc/systemd/system/muster-agent.service'
    expect((await install()).code).toBe(0)
    const example = readFileSync(join(ROOT, 'apps/agent/examples/muster-agent.service'), 'utf8')
    expect(await readFile(join(root, unit), 'utf8')).toBe(example)
    const verify = () => inRoot('systemd-analyze', 'verify', '--recursive-errors=no', `/${unit}`)
    expect(await verify()).toEqual({ code: 0, output: '\n' })

    await writeFile(join(root, 'run/systemd-version'), 'systemd 245 (245.4-4ubuntu3)\n')
    expect((await script()).code).toBe(0)
    expect((await readFile(join(root, unit), 'utf8')).split('\n')).toEqual([
      '[Unit]',
      'Description=Connects this device to its hub',
      'Wants=network-online.target',
      'After=network-online.target',
      'ConditionPathExists=/etc/nexigon/agent.toml',
      '',
      '[Service]',
      'ExecStart=/usr/bin/muster-agent run --config /etc/nexigon/agent.toml',
      'Restart=always',
      'RestartSec=10s',
      '',
      '',
      '[Install]',
      'WantedBy=multi-user.target',
      '',
    ])
    expect(await verify()).toEqual({ code: 0, output: '\n' })
  },
)

withRoot('keeps changed files, and removes what is unchanged', async () => {
  await install()
  const config = join(root, 'etc/nexigon/agent.toml')
  const unit = join(root, 'etc/systemd/system/muster-agent.service')
  const changed = `${await readFile(config, 'utf8')}# changed\n`
  await writeFile(config, changed)
  await writeFile(unit, `${await readFile(unit, 'utf8')}# changed\n`)
  const again = await script()
  expect(again.code).toBe(0)
  expect(again.output).toContain('Keeps /etc/systemd/system/muster-agent.service, which was changed.')
  expect(await readFile(config, 'utf8')).toBe(changed)
  expect(await readFile(unit, 'utf8')).toContain('# changed')

  const removed = await script('--uninstall', '--purge')
  expect(removed.output).toContain('Keeps /etc/nexigon/agent.toml, which was changed.')
  expect(removed.output).toContain('Keeps /etc/systemd/system/muster-agent.service, which was changed.')
  expect(await readFile(config, 'utf8')).toBe(changed)
  expect(existsSync(join(root, 'usr/bin/muster-agent'))).toBe(false)
  expect(existsSync(join(root, 'usr/lib/muster-agent'))).toBe(false)
  expect(existsSync(join(root, 'etc/nexigon/agent'))).toBe(false)
})

withRoot.for([
  ['etc/nexigon/agent.toml', PUBLIC_CONFIG],
  ['etc/nexigon/agent/ssl/key.pem', 'a key'],
  ['usr/bin/muster-agent', '#!/bin/sh\n'],
  ['etc/systemd/system/muster-agent.service', '[Unit]\n'],
  ['usr/lib/muster-agent/other', 'x'],
])('changes nothing where %s is a file of something else', async ([path, content]) => {
  await mkdir(dirname(join(root, path!)), { recursive: true })
  await writeFile(join(root, path!), content!)
  const before = await files()
  const { code, output } = await install()
  expect(output).toContain(`\n/${path}\n`)
  expect(output).toContain('Nothing was changed.')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
  expect(await calls()).toEqual([])
  expect((await script('--uninstall', '--purge')).code).toBe(1)
  expect(await files()).toEqual(before)
})

withRoot('leaves the files of a public agent that came later', async () => {
  await install()
  await script('--uninstall')
  await writeFile(join(root, 'etc/nexigon/agent.toml'), PUBLIC_CONFIG)
  const before = await files()
  expect((await install()).output).toContain('\n/etc/nexigon/agent.toml\n')
  const { output } = await script('--uninstall', '--purge')
  expect(output).toContain('Keeps the identity of this device, because other software uses /etc/nexigon')
  expect(await files()).toEqual(before)
  // Simulates other software that overwrites the installed program with a file of its own.
  await rm(join(root, 'etc/nexigon/agent.toml'))
  expect((await install()).code).toBe(0)
  // As a package does, in a new file: nothing can write to a program that is just being started.
  await rm(join(root, 'usr/bin/muster-agent'))
  await writeFile(join(root, 'usr/bin/muster-agent'), 'of a package')
  expect((await script()).output).toContain('\n/usr/bin/muster-agent\n')
  expect((await script('--uninstall')).output).toContain('Keeps /usr/bin/muster-agent, which was changed.')
  expect(await readFile(join(root, 'usr/bin/muster-agent'), 'utf8')).toBe('of a package')
})

withRoot.for([
  ['before the hub has accepted the device', '  [ -f "$config" ] || enrol\n'],
  ['after that', "  undo=''\n  listed_as"],
])('cut off %s, is removed without a trace, or without the files of a public agent', async ([, line]) => {
  const before = await files()
  const { text } = await ask(hub, '/install.sh')
  expect(text).toContain(line)
  const cutOff = () =>
    install(
      fleet.token,
      text.replace(line!, () => `  kill -9 $$\n${line}`),
    )
  await cutOff()
  expect((await files()).map(pathOf)).toContain('etc/nexigon/agent/ssl/key.pem')
  expect((await script('--uninstall', '--purge')).code).toBe(0)
  expect(await files()).toEqual(before)

  for (const others of [
    ['cert.pem', 'key.pem'],
    ['cert.pem', 'key.pem', '../../agent.toml'],
  ]) {
    await cutOff()
    const paths = others.map(file => join(root, 'etc/nexigon/agent/ssl', file))
    if (others.includes('key.pem')) {
      const data = join(root, 'var/lib/nexigon/agent')
      await mkdir(data, { recursive: true })
      paths.push(join(data, 'event'))
    }
    for (const path of paths) await writeFile(path, `of a public agent: ${path}`)
    await script('--uninstall', '--purge')
    for (const path of paths) expect(await readFile(path, 'utf8')).toBe(`of a public agent: ${path}`)
    for (const path of paths) await rm(path)
    await script('--uninstall', '--purge')
    expect(await files()).toEqual(before)
  }
})

withRoot('does nothing when it was cut off', async () => {
  await writeFile(join(root, 'root/token'), fleet.token, { mode: 0o600 })
  const before = await files()
  const { text } = await ask(hub, '/install.sh')
  const end = text.trimEnd().length
  const cuts = Array.from({ length: 60 }, (_, at) => Math.floor((at * end) / 60))
  for (let length = end - 40; length < end; length++) cuts.push(length)
  for (const length of cuts) {
    await inRoot('sh', '-c', 'exec sh -s -- --token-file /root/token', text.slice(0, length))
    expect({ length, calls: await calls() }).toEqual({ length, calls: [] })
  }
  expect(await files()).toEqual(before)
})

withRoot('leaves nothing when the token has expired since it was shown', async () => {
  const before = await files()
  await fleet.owner.invoke('projects_SetDeploymentTokenLimits', {
    tokenId: fleet.tokenId,
    limits: { expiresAt: new Date(Date.now() - 1000).toISOString() },
  })
  const { code, output } = await install()
  expect(output).toContain('The hub did not accept this device: ')
  expect(output).toMatch(/expired/)
  expect(output).toContain('What this run installed is removed again.')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
  expect(await calls()).toEqual([])

  // An uninstall keeps the identity of the device. An installation with a refused token then removes everything except this identity.
  const { token } = await hub.token(fleet.owner, fleet.projectId)
  expect((await install(token)).code).toBe(0)
  await script('--uninstall')
  const identity = await files()
  const second = await hub.project(fleet.owner, fleet.organizationId)
  const other = await hub.token(fleet.owner, second)
  await fleet.owner.invoke('projects_DeleteDeploymentToken', { tokenId: other.tokenId })
  expect((await install(other.token)).output).toContain('the token is not accepted')
  expect(await files()).toEqual(identity)
})

withRoot('waits for approval with a token that does not accept automatically', async () => {
  const { token } = await hub.token(fleet.owner, fleet.projectId, false)
  const { code, output } = await install(token)
  expect(output).toContain('It waits until somebody accepts its certificate in the console.')
  expect(code).toBe(0)
  const { certificates } = await fleet.owner.invoke('projects_QueryPendingCertificates', {
    projectId: fleet.projectId,
  })
  expect(certificates).toHaveLength(1)
})

withRoot(
  'changes nothing without systemd, on an old kernel, with a wrong token, and with a token file that others can read',
  async () => {
    const before = await files()
    expect((await install('deployment_short')).output).toContain('Found a text of 16 characters')
    await writeFile(join(root, 'root/open'), fleet.token, { mode: 0o644 })
    expect((await script('--token-file', '/root/open')).output).toContain('expected 0600')
    await rm(join(root, 'root/open'))
    expect((await script()).output).toContain('Found no terminal to ask for the token')
    const named = await script(fleet.token)
    expect(named.output).toContain('A token is no argument')
    expect(named.output).not.toContain(fleet.token)
    const uname = join(root, 'usr/local/bin/uname')
    await writeFile(
      uname,
      '#!/bin/sh\nif [ "$1" = -r ]; then echo 4.15.0-213-generic; else echo x86_64; fi\n',
      {
        mode: 0o755,
      },
    )
    const old = await install()
    await rm(uname)
    expect(old).toMatchObject({
      code: 1,
      output:
        "\nFound Linux 4.15.0-213-generic, expected Linux 4.18 or newer for the hub's Node, or a Node 24 of this machine. Nothing was changed.\n",
    })
    await rm(join(root, 'run/systemd'), { recursive: true })
    expect(await install()).toMatchObject({
      code: 1,
      output: expect.stringContaining('Found no running systemd'),
    })
    expect(await files()).toEqual(before)
    expect(await calls()).toEqual([])
  },
)

withRoot('changes nothing when a download is not what the manifest says', async () => {
  const before = await files()
  const bodyOf = async (path: string): Promise<Buffer> => {
    const answer = await fetch(`${hub.url}${path}`)
    const body = Buffer.from(await answer.arrayBuffer())
    if (path === '/muster-agent') body[9]! ^= 1
    return body
  }
  const proxy = createServer((request, response) => {
    bodyOf(request.url!).then(
      body => response.end(body),
      () => response.destroy(),
    )
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  forRoot.defer(() => void proxy.close())
  const { text } = await ask(hub, '/install.sh')
  const { port } = proxy.address() as AddressInfo
  const { code, output } = await install(
    fleet.token,
    text.replace(/^ {2}hub='.*'$/m, `  hub='http://127.0.0.1:${port}'`),
  )
  expect(output).toContain('Found another digest of')
  expect(code).toBe(1)
  expect(await files()).toEqual(before)
})

withRoot('uses the Node of the device where it is new enough', async () => {
  await mkdir(join(root, 'usr/local/bin'), { recursive: true })
  await writeFile(join(root, 'usr/local/bin/node'), await readFile(process.execPath), { mode: 0o755 })
  expect((await install()).code).toBe(0)
  expect(existsSync(join(root, 'usr/lib/muster-agent/node'))).toBe(false)
  expect(await readFile(join(root, 'usr/bin/muster-agent'), 'utf8')).toContain('/usr/local/bin/node ')
  await connected()
})

withRoot('installs the agent by hand with the commands of docs/operating.md', async () => {
  const document = await readFile(join(ROOT, 'docs/operating.md'), 'utf8')
  const [, block] = /\*\*By hand\.\*\*.*?```sh\n(.*?)^```$/ms.exec(document)!
  const hand = join(root, 'root/hand')
  await mkdir(hand)
  await packApp('agent', join(hand, 'muster-agent'))
  for (const file of ['muster-agent.service', 'fingerprint'])
    await copyFile(join(ROOT, 'apps/agent/examples', file), join(hand, file))
  await copyFile(process.execPath, join(root, 'usr/bin/node'))
  await chmod(join(root, 'usr/bin/node'), 0o755)
  const commands = block!
    .replace('https://hub.example.com', `http://localhost:${hub.address.port}`)
    .replace('deployment_…', fleet.token)
    // The hub of this test has no TLS.
    .replace(/^fingerprint-script = .*$/m, '$&\ndangerous-allow-plaintext = true')
  const { code, output } = await inRoot('sh', '-c', `set -e; cd /root/hand; ${commands}`, '')
  expect(output).toBe('\n')
  expect(code).toBe(0)
  await connected()
  expect(await modeOf('etc/nexigon/agent.toml')).toBe('600')
})

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { hasPrograms } from '@muster/testkit/programs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aptKey, writeAptRepository } from './release/apt.ts'
import { run } from './release/run.ts'

const ARCHES = ['amd64', 'arm64']
const canSign = hasPrograms('apt-get', 'dpkg-deb') && existsSync('/usr/bin/gpg')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-apt-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Makes a file with an OpenPGP secret key. */
function newKey(passphrase: string): string {
  const home = mkdtempSync(join(folder, 'home-'))
  const gpg = (...words: string[]): string =>
    run('gpg', [
      '--homedir',
      home,
      '--batch',
      '--quiet',
      '--pinentry-mode',
      'loopback',
      '--passphrase',
      passphrase,
      ...words,
    ])
  gpg('--quick-generate-key', 'Muster releases', 'ed25519', 'sign', 'never')
  const file = join(home, 'secret.asc')
  writeFileSync(file, gpg('--armor', '--export-secret-keys'))
  run('gpgconf', ['--homedir', home, '--kill', 'gpg-agent'])
  return file
}

/** Runs apt-get on a machine that knows only this repository. An update begins with a new machine. */
function apt(repository: string, ...words: string[]): { status: number | null; output: string } {
  const machine = join(folder, 'machine')
  if (words[0] === 'update') rmSync(machine, { recursive: true, force: true })
  for (const name of ['lists/partial', 'archives/partial'])
    mkdirSync(join(machine, name), { recursive: true })
  writeFileSync(join(machine, 'status'), '')
  const source = `deb [arch=amd64 signed-by=${join(repository, 'muster.asc')}] file:${repository} ./\n`
  writeFileSync(join(machine, 'sources.list'), source)
  const options = {
    'Dir::Etc::sourcelist': join(machine, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': join(machine, 'lists'),
    'Dir::State::status': join(machine, 'status'),
    'Dir::Cache': machine,
    'APT::Architecture': 'amd64',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  }
  const { status, stdout, stderr } = spawnSync(
    'apt-get',
    [...Object.entries(options).map(([name, value]) => `--option=${name}=${value}`), ...words],
    { cwd: machine, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } },
  )
  return { status, output: stdout + stderr }
}

describe.runIf(canSign)('the apt repository of a release', () => {
  it('O22: serves the packages of each architecture to apt, which refuses changed lists', () => {
    const release = join(folder, 'release')
    for (const arch of ARCHES) {
      const root = join(folder, arch)
      mkdirSync(join(root, 'DEBIAN'), { recursive: true })
      writeFileSync(
        join(root, 'DEBIAN/control'),
        `Package: muster-cli\nVersion: ${VERSION}\nArchitecture: ${arch}\nMaintainer: Somebody\nDescription: for ${arch}\n`,
      )
      mkdirSync(release, { recursive: true })
      run('dpkg-deb', [
        '--build',
        '--root-owner-group',
        root,
        join(release, `muster-cli_${VERSION}_${arch}.deb`),
      ])
    }
    using key = aptKey(newKey(''), join(folder, 'gnupg'))
    const repository = writeAptRepository(release, key)
    expect(apt(repository, 'update')).toMatchObject({ status: 0 })
    const downloaded = apt(repository, 'download', 'muster-cli')
    expect(downloaded.status, downloaded.output).toBe(0)
    const name = `muster-cli_${VERSION}_amd64.deb`
    expect(readFileSync(join(folder, 'machine', name))).toEqual(readFileSync(join(release, name)))

    const signed = readFileSync(join(repository, 'InRelease'), 'utf8')
    writeFileSync(join(repository, 'InRelease'), signed.replace('Label: Muster', 'Label: Other'))
    expect(apt(repository, 'update').output).toMatch(/BADSIG|not valid|invalid/)
    writeFileSync(join(repository, 'InRelease'), signed)
    for (const file of ['Packages', 'Packages.gz'])
      writeFileSync(join(repository, file), 'Package: muster-cli\n')
    expect(apt(repository, 'update')).toMatchObject({
      status: 100,
      output: expect.stringMatching(/unexpected size|Hash Sum/),
    })
  })

  it('O22: is refused for a file without a key, and for a key with a passphrase', () => {
    const none = join(folder, 'none.asc')
    writeFileSync(none, 'no key')
    for (const [index, file] of [none, newKey('a passphrase')].entries())
      expect(() => aptKey(file, join(folder, `refused-${index}`))).toThrow(
        /^MUSTER_APT_KEY: found \S+\.asc \(.*\), expected an OpenPGP secret key without a passphrase /s,
      )
  })
})

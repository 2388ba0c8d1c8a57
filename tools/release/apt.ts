import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { VERSION } from '@muster/actions/version'
import { sourceDate } from './archive.ts'
import { run } from './run.ts'

/** Folder of the apt repository in a release. */
export const APT_FOLDER = 'muster-apt'
/** Public key of the repository, as `signed-by` of apt reads it. */
const PUBLIC_KEY = 'muster.asc'

/** Key that signs an apt repository, in a key ring of its own. Disposal ends the agent that gpg starts for it. */
type AptKey = Disposable & { home: string }

/**
 * Reads the key that signs the apt repository into the new folder `home`. Throws unless the file holds an OpenPGP secret key without a
 * passphrase.
 */
export function aptKey(file: string, home: string): AptKey {
  mkdirSync(home, { mode: 0o700 })
  const key = {
    home,
    [Symbol.dispose]: () => void run('gpgconf', ['--homedir', home, '--kill', 'gpg-agent']),
  }
  try {
    gpg(key, '--import', file)
    sign(key, '')
  } catch (cause) {
    key[Symbol.dispose]()
    const expected = 'an OpenPGP secret key without a passphrase (gpg --armor --export-secret-keys KEY)'
    throw new Error(`MUSTER_APT_KEY: found ${file} (${(cause as Error).message}), expected ${expected}.`, {
      cause,
    })
  }
  return key
}

/**
 * Writes a signed apt repository of the Debian packages of a folder into a folder beside them, whose packages are links to the same files.
 * Returns that folder. It is flat: all architectures are in one list, from which apt takes its own.
 */
export function writeAptRepository(folder: string, key: AptKey): string {
  const repository = join(folder, APT_FOLDER)
  mkdirSync(repository)
  const put = (name: string, content: string | Buffer): void => writeFileSync(join(repository, name), content)
  const debs = readdirSync(folder).filter(name => name.endsWith('.deb'))
  const stanzas = debs.sort().map(name => {
    const file = join(repository, name)
    linkSync(join(folder, name), file)
    const fields = run('dpkg-deb', ['--field', file]).trimEnd()
    return `${fields}\nFilename: ./${name}\nSize: ${statSync(file).size}\nSHA256: ${sha256(readFileSync(file))}\n`
  })
  const packages = stanzas.join('\n')
  const lists = { Packages: Buffer.from(packages), 'Packages.gz': gzipSync(packages) }
  for (const [name, list] of Object.entries(lists)) put(name, list)
  const architectures = new Set(debs.map(name => /_([^_]+)\.deb$/.exec(name)![1]!))
  const release = [
    'Origin: Muster',
    'Label: Muster',
    `Version: ${VERSION}`,
    `Date: ${new Date(Number(sourceDate()) * 1000).toUTCString()}`,
    `Architectures: ${[...architectures].sort().join(' ')}`,
    'SHA256:',
    ...Object.entries(lists).map(([name, list]) => ` ${sha256(list)} ${list.length} ${name}`),
    '',
  ].join('\n')
  put('Release', release)
  put('InRelease', sign(key, release))
  put(PUBLIC_KEY, gpg(key, '--armor', '--export'))
  return repository
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Signs a text. The text is readable in the result. */
function sign(key: AptKey, text: string): string {
  const file = join(key.home, 'text')
  writeFileSync(file, text)
  return gpg(key, '--digest-algo', 'SHA512', '--output', '-', '--clearsign', file)
}

function gpg({ home }: { home: string }, ...options: string[]): string {
  // An empty passphrase keeps gpg from asking for one.
  const quiet = ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '']
  return run('gpg', ['--homedir', home, ...quiet, ...options])
}

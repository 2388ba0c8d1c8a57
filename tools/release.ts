// Makes a release of the version in package.json: archives and Debian packages of hub, agent and command line, `SHA256SUMS` and, if `MUSTER_RELEASE_KEY`
// names an Ed25519 key, the signature `SHA256SUMS.sig`. If `MUSTER_APT_KEY` names an OpenPGP key, an apt repository is beside them. `--arch` (x64, arm64) and `--out` (dist/release) choose what is made and where.
// The files are those of git in this checkout.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { VERSION } from '@muster/actions/version'
import { APT_FOLDER, aptKey, writeAptRepository } from './release/apt.ts'
import { packFolder, signingKey, writeSums } from './release/archive.ts'
import { writeDebianPackages } from './release/debian.ts'
import { ARCHES, type Arch, PRODUCTS, type Product } from './release/product.ts'
import { ROOT, run } from './release/run.ts'
import { writeTree } from './release/tree.ts'

/** Files and folders that a release consists of. */
const RELEASE_FILE = new RegExp(`^muster-.*\\.(tar\\.gz|deb)$|^SHA256SUMS(\\.sig)?$|^${APT_FOLDER}$`)

try {
  await release()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}

async function release(): Promise<void> {
  const { arch: chosen = [...ARCHES], out } = parseArgs({
    options: { arch: { type: 'string', multiple: true }, out: { type: 'string', default: 'dist/release' } },
  }).values
  const unknown = chosen.find(arch => !ARCHES.some(one => one === arch))
  if (unknown !== undefined) throw new Error(`--arch: found ${unknown}, expected ${ARCHES.join(' or ')}.`)
  const keyFile = process.env.MUSTER_RELEASE_KEY
  const key = keyFile ? signingKey(keyFile) : undefined

  const folder = resolve(ROOT, out)
  const work = mkdtempSync(join(tmpdir(), 'muster-release-'))
  const downloads = join(work, 'downloads')
  try {
    const aptKeyFile = process.env.MUSTER_APT_KEY
    using apt = aptKeyFile ? aptKey(aptKeyFile, join(work, 'gnupg')) : undefined
    emptyFolder(folder)
    run('node', [join(import.meta.dirname, 'build-console.ts')])
    for (const arch of ARCHES.filter(one => chosen.includes(one))) {
      const treeOf = (product: Product): string => join(work, `${product}-${VERSION}-linux-${arch}`)
      for (const product of PRODUCTS) await writeTree(product, arch, treeOf(product), downloads)
      // Compression takes most of the time, and one program at a time does not use all cores.
      // All programs end before their folder is removed, even if one fails.
      const packed = await Promise.allSettled(
        PRODUCTS.map(product => pack(product, arch, treeOf(product), folder, downloads)),
      )
      const failed = packed.find(one => one.status === 'rejected')
      if (failed) throw failed.reason
    }
    writeSums(folder, key)
    process.stdout.write(
      apt
        ? `${writeAptRepository(folder, apt)} (apt repository)\n`
        : 'No apt repository was written, because MUSTER_APT_KEY names no key.\n',
    )
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Makes the archive and the Debian packages of a program from its folder, which is moved away. */
async function pack(
  product: Product,
  arch: Arch,
  tree: string,
  folder: string,
  downloads: string,
): Promise<void> {
  const file = join(folder, `${product}-${VERSION}-linux-${arch}.tar.gz`)
  await packFolder(tree, file)
  for (const made of [file, ...(await writeDebianPackages(product, arch, tree, folder, downloads))])
    process.stdout.write(`${made} (${(statSync(made).size / 1024 ** 2).toFixed(1)} MiB)\n`)
}

/** Removes an earlier release. Throws for a folder with other files, so that a wrong `--out` removes nothing. */
function emptyFolder(folder: string): void {
  const files = existsSync(folder) ? readdirSync(folder) : []
  const other = files.find(name => !RELEASE_FILE.test(name))
  if (other !== undefined)
    throw new Error(
      `--out: found ${join(folder, other)}, expected a new folder or one with only an earlier release.`,
    )
  for (const name of files) rmSync(join(folder, name), { recursive: true })
  mkdirSync(folder, { recursive: true })
}

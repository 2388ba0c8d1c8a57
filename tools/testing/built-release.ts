import { spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from '../release/run.ts'

const CACHE = join(ROOT, 'node_modules/.cache/muster-release')
/** Files that are in no release, as patterns of git. */
const NOT_RELEASED = ['*.test.ts', 'e2e', 'bench', 'testkit', 'tools/testing'].map(
  name => `:(exclude)${name}`,
)

/** Bound of the compressed archive of the hub. */
export const MAX_HUB_ARCHIVE_BYTES = 160_000_000
/** Bound of the Debian package of the agent with its Node. */
export const MAX_AGENT_PACKAGE_BYTES = 45_000_000

/** A signed release of this checkout for this machine's architecture: the folder of its files, and the PEM file of its public key. */
export type BuiltRelease = { folder: string; publicKey: string }

/**
 * Makes a release, or returns the one that was made of the same files. A release takes a minute or more, and several test files and a bench
 * need one. Only the newest one is kept.
 */
export function builtRelease(): BuiltRelease {
  const place = join(CACHE, digestOfCheckout())
  if (!existsSync(place)) {
    for (const name of existsSync(CACHE) ? readdirSync(CACHE) : [])
      rmSync(join(CACHE, name), { recursive: true })
    const draft = `${place}.${process.pid}`
    mkdirSync(draft, { recursive: true })
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    writeFileSync(join(draft, 'release.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    writeFileSync(join(draft, 'release.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
    const made = spawnSync(
      process.execPath,
      [join(ROOT, 'tools/release.ts'), '--arch', process.arch, '--out', join(draft, 'out')],
      { encoding: 'utf8', env: { ...process.env, MUSTER_RELEASE_KEY: join(draft, 'release.pem') } },
    )
    if (made.status !== 0) throw new Error(`npm run release failed: ${made.stderr}`)
    renameSync(draft, place)
  }
  return { folder: join(place, 'out'), publicKey: join(place, 'release.pub') }
}

/** Digest of all files that git knows or could add, as they are on the disk. */
function digestOfCheckout(): string {
  const digest = createHash('sha256').update(process.arch)
  const files = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '.', ...NOT_RELEASED]
  const names = run('git', files).split('\0')
  for (const name of names.filter(file => file !== '' && existsSync(join(ROOT, file))))
    digest.update(`${name}\0`).update(readFileSync(join(ROOT, name)))
  return digest.digest('hex').slice(0, 16)
}

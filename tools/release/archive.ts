import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { run, runBeside } from './run.ts'

/** Seconds since 1970 of the newest commit. Archives of one commit are equal, whenever they are made. */
export function sourceDate(): string {
  return process.env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct']).trim()
}

/** Packs a folder into `file`, a `.tar.gz` with that folder as its only top-level entry. All files belong to root. */
export async function packFolder(folder: string, file: string): Promise<void> {
  await runBeside('tar', [
    '--create',
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u+rw,go+rX,go-w',
    `--mtime=@${sourceDate()}`,
    '--use-compress-program=gzip --no-name',
    `--file=${file}`,
    `--directory=${dirname(folder)}`,
    basename(folder),
  ])
}

/** Reads the key that signs a release. Throws unless the file holds an Ed25519 private key in PEM form. */
export function signingKey(file: string): KeyObject {
  const expected = 'an Ed25519 private key in PEM form (openssl genpkey -algorithm ed25519)'
  let key: KeyObject
  try {
    key = createPrivateKey(readFileSync(file))
  } catch (cause) {
    throw new Error(
      `MUSTER_RELEASE_KEY: found ${file} (${(cause as Error).message}), expected ${expected}.`,
      { cause },
    )
  }
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Error(
    `MUSTER_RELEASE_KEY: found a key of type ${key.asymmetricKeyType} in ${file}, expected ${expected}.`,
  )
}

/** Writes `SHA256SUMS` of all files of a folder, as `sha256sum --check` reads it, and its signature if there is a key. */
export function writeSums(folder: string, key: KeyObject | undefined): void {
  const sums = readdirSync(folder)
    .sort()
    .map(
      name =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('')
  writeFileSync(join(folder, 'SHA256SUMS'), sums)
  if (key) writeFileSync(join(folder, 'SHA256SUMS.sig'), sign(null, Buffer.from(sums), key))
}

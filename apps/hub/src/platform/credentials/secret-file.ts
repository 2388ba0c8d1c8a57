import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** Reads a file with a secret, without the line break at its end. Resolves to undefined if the file is absent. */
export async function readSecret(path: string): Promise<string | undefined> {
  const found = await readFile(path, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  return found?.trim()
}

/** Creates a file with 32 random bytes as hexadecimal digits, readable for the hub's account only. Rejects if the file exists. */
export async function makeSecret(path: string): Promise<string> {
  const secret = randomBytes(32).toString('hex')
  await writeSecret(path, secret)
  return secret
}

/** Creates a file with a secret, readable for the hub's account only. Rejects if the file exists. */
export async function writeSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flush: true })
  try {
    // `link` is atomic: no process reads a partly written file. It fails if another process has created the file first.
    await link(draft, path)
  } finally {
    await rm(draft)
  }
}

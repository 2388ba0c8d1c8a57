import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Contents of `initial-admin.json`, the file with the generated password of the first administrator. */
type FirstSignIn = { url: string; email: string; password: string; deploymentToken: string }

/** Atomically writes `initial-admin.json` (mode 0600) into the data folder. Returns the path of the file. */
export async function writeFirstSignIn(dataDir: string, signIn: FirstSignIn): Promise<string> {
  const file = firstSignInFile(dataDir)
  await writeFile(`${file}.new`, `${JSON.stringify(signIn)}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  return file
}

/**
 * Writes the first deployment token into a file of mode 0600, from which the printed commands of the agent read it (`--token-file`). Unlike
 * `initial-admin.json` it stays when the password is changed. Returns the path.
 */
export async function writeFirstToken(dataDir: string, token: string): Promise<string> {
  const file = join(dataDir, 'first-token')
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  return file
}

/** Removes `initial-admin.json` if it contains this email address. Called when the content of the file is no longer valid. */
export async function forgetFirstSignIn(dataDir: string, email: string): Promise<void> {
  const file = firstSignInFile(dataDir)
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text !== undefined && JSON.parse(text).email === email) await rm(file, { force: true })
}

function firstSignInFile(dataDir: string): string {
  return join(dataDir, 'initial-admin.json')
}

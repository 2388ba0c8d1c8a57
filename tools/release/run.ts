import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Folder of the checkout. */
export const ROOT = join(import.meta.dirname, '../..')

/** Runs a program in a folder and returns its standard output. Throws with its error output if it fails. */
export function run(program: string, options: readonly string[], cwd = ROOT): string {
  const { status, stdout, stderr, error } = spawnSync(program, options, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) return stdout
  throw new Error(`${program} ${options[0]} failed: ${(error?.message ?? stderr).trim()}`)
}

/** Runs a program that takes long while other work goes on. `env` is added to the environment. Rejects with its error output if it fails. */
export async function runBeside(
  program: string,
  options: readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  await promisify(execFile)(program, options, { cwd: ROOT, env: { ...process.env, ...env } })
}

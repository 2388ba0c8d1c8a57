import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Folder of the checkout. */
export const ROOT = join(import.meta.dirname, '../..')

/** Runs a program in a folder and returns its standard output. Throws with its error output if it fails. `env` is added to the environment. */
export function run(
  program: string,
  options: readonly string[],
  cwd = ROOT,
  env: Record<string, string> = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, options, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) return stdout
  throw new Error(`${program} ${options[0]} failed: ${(error?.message ?? stderr).trim()}`)
}

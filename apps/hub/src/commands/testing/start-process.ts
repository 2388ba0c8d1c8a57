import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Ran } from './run-here.ts'

/** Entry file of the hub. */
export const MAIN = join(import.meta.dirname, '../../main.ts')

/** Starts a command of `muster-hub` as a process of its own. */
export function startProcess(
  words: readonly string[],
  settings: Record<string, string>,
): { child: ChildProcess; ended: Promise<Ran> } {
  const child = spawn(process.execPath, [MAIN, ...words], { env: settings, stdio: 'pipe' })
  const ended = async (): Promise<Ran> => {
    const closed = once(child, 'close')
    const [out, err] = await Promise.all([child.stdout, child.stderr].map(stream => stream.toArray()))
    return { code: (await closed)[0] as number, out: out!.join(''), err: err!.join('') }
  }
  return { child, ended: ended() }
}

import { Readable } from 'node:stream'
import { runCommand } from '../run-command.ts'

/** Exit code and outputs of a command. */
export type Ran = { code: number; out: string; err: string }

/** Runs a command of `muster-hub` in this process, with these settings as its environment. `input` is its standard input. */
export async function runHere(
  words: readonly string[],
  settings: Record<string, string | undefined> = {},
  { input = '', commands }: { input?: string; commands?: NonNullable<Parameters<typeof runCommand>[2]> } = {},
): Promise<Ran> {
  const ran = { out: '', err: '' }
  const code = await runCommand(
    words,
    {
      out: text => (ran.out += text),
      err: text => (ran.err += text),
      input: () => Readable.from([input]),
      environment: settings,
      stopSignal: () => new AbortController().signal,
      lowerPriority: () => {},
    },
    ...(commands ? [commands] : []),
  )
  return { code, ...ran }
}

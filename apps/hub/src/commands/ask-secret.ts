import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CommandError, type CommandLine } from './command-line.ts'

/**
 * Reads a secret: the first line of a file, else a line of standard input. A terminal asks for it and does not show it. Secrets are no
 * arguments, because other accounts of the machine can read those. Throws `CommandError` if there is none.
 */
export async function askSecret(
  line: CommandLine,
  question: string,
  { file, option }: { file: string | undefined; option: string },
): Promise<string> {
  const secret =
    file === undefined
      ? await readLine(line, question)
      : (await readFile(line.path(file), 'utf8')).split(/\r?\n/)[0]
  if (!secret?.trim())
    throw new CommandError(
      `${question}: found nothing, expected it at the prompt or in a file, with ${option}.`,
    )
  return secret
}

async function readLine(line: CommandLine, question: string): Promise<string | undefined> {
  const input = line.input()
  const isTerminal = 'isTTY' in input && input.isTTY === true
  // The reader echoes to its output, so the output discards everything.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input, output, terminal: isTerminal })
  // The reader has switched the echo of the terminal off, so a text that is pasted at the question is not shown.
  if (isTerminal) line.err(`${question}: `)
  try {
    for await (const text of reader) return text
    return undefined
  } finally {
    reader.close()
    if (isTerminal) line.err('\n')
  }
}

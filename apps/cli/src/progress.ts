import type { MultiBar, SingleBar } from 'cli-progress'
import type { CommandContext } from './cli.ts'
import { plain } from './table.ts'

/** What tells a person how far transfers are. */
export type Progress = {
  /** Begins to show a transfer. */
  start(name: string, totalBytes: number): Transfer
  /** Takes the bars off the screen. */
  stop(): void
}

export type Transfer = {
  /** So many bytes are there, counted from the start. */
  at(doneBytes: number): void
  /** It ended, with a word on how. */
  end(outcome: string): void
}

/** A bar for each transfer on a terminal; in a log a line where each begins and ends. */
export async function createProgress({ err, isTerminal }: CommandContext): Promise<Progress> {
  if (!isTerminal) return { start: (name, totalBytes) => lines(err, name, totalBytes), stop: () => {} }
  const { MultiBar } = await import('cli-progress')
  const bars: MultiBar = new MultiBar({
    format: ' {bar} {percentage}% {name} {outcome}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    stream: process.stderr,
  })
  return {
    start(name, totalBytes) {
      const bar: SingleBar = bars.create(Math.max(1, totalBytes), 0, { name: plain(name), outcome: '' })
      return {
        at: doneBytes => bar.update(doneBytes),
        end: outcome => bar.update({ outcome }),
      }
    },
    stop: () => bars.stop(),
  }
}

function lines(err: (text: string) => void, name: string, totalBytes: number): Transfer {
  err(`${plain(name)}: ${totalBytes} bytes\n`)
  return { at: () => {}, end: outcome => err(`${plain(name)}: ${outcome}\n`) }
}

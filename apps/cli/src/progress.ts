import type { MultiBar, SingleBar } from 'cli-progress'
import type { CommandContext } from './command-context.ts'
import { plain } from './table.ts'

/** Shows the progress of transfers. */
export type Progress = {
  /** Shows a new transfer. */
  start(name: string, totalBytes: number): Transfer
  /** Removes the bars from the screen. */
  stop(): void
}

export type Transfer = {
  /** Sets the number of transferred bytes, counted from the start of the file. */
  at(doneBytes: number): void
  /** Ends the transfer and shows its outcome. */
  end(outcome: string): void
}

/**
 * Creates the display of transfers: progress bars on a terminal, otherwise one line at the start and one at the end of each
 * transfer.
 */
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

import type { MultiBar, SingleBar } from 'cli-progress'
import type { CommandContext } from './command-context.ts'
import { plain } from './table.ts'

/** Shows the progress of transfers and of other work. */
export type Progress = {
  /** Shows a new transfer, or other work whose parts have the name `unit`. */
  start(name: string, total: number, unit?: string): Transfer
  /** Removes the bars from the screen. */
  stop(): void
}

export type Transfer = {
  /** Sets the number of transferred bytes, counted from the start of the file, or of other parts that are done. */
  at(done: number): void
  /** Ends the transfer and shows its outcome. */
  end(outcome: string): void
}

/**
 * Creates the display of transfers: progress bars on a terminal, otherwise one line at the start and one at the end of each
 * transfer.
 */
export async function createProgress({ err, isTerminal }: CommandContext): Promise<Progress> {
  if (!isTerminal)
    return { start: (name, total, unit = 'bytes') => lines(err, name, total, unit), stop: () => {} }
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
    start(name, total) {
      const bar: SingleBar = bars.create(Math.max(1, total), 0, { name: plain(name), outcome: '' })
      return {
        at: done => bar.update(done),
        end: outcome => bar.update({ outcome }),
      }
    },
    stop: () => bars.stop(),
  }
}

function lines(err: (text: string) => void, name: string, total: number, unit: string): Transfer {
  err(`${plain(name)}: ${total} ${unit}\n`)
  return { at: () => {}, end: outcome => err(`${plain(name)}: ${outcome}\n`) }
}

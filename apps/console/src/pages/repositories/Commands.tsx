import { ChevronRight } from 'lucide-react'
import type { CliCommand } from '../../lib/cli-commands.ts'
import { Code } from '../../ui/Code.tsx'

type CommandsProps = {
  /** The line that is always shown. */
  title: string
  commands: readonly CliCommand[]
  /** Starts unfolded, where there is nothing else to do yet. */
  open: boolean
}

/** Commands to copy, folded below a line that says what they are for. */
export function Commands({ title, commands, open }: CommandsProps) {
  return (
    <details className="sheet cmds" open={open}>
      <summary>
        <ChevronRight className="i" aria-hidden />
        <span>{title}</span>
        <b>Commands</b>
      </summary>
      <dl>
        {commands.map(({ what, command }) => (
          <div key={command}>
            <dt>{what}</dt>
            <dd>
              <Code text={command} label={`Copy the command: ${what}`} prompt />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

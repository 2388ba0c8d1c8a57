import { ChevronRight } from 'lucide-react'
import { Code } from '../../ui/Code.tsx'
import styles from './Commands.module.css'
import type { CliCommand } from './cli-commands.ts'

type CommandsProps = {
  /** Text of the summary line, which stays visible while the commands are folded. */
  title: string
  commands: readonly CliCommand[]
  /** Starts unfolded, for pages without other content. */
  open: boolean
}

/** A collapsible list of commands to copy, below a line with their purpose. */
export function Commands({ title, commands, open }: CommandsProps) {
  return (
    <details className={`sheet ${styles.commands}`} open={open}>
      <summary>
        <ChevronRight className="icon" aria-hidden />
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

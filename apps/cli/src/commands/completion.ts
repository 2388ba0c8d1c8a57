import { Argument, type Command } from 'commander'
import type { CommandContext } from '../command-context.ts'

/** Completion scripts by shell. Each script calls `muster complete` for candidates; its last argument is the word being typed. */
const SCRIPTS = {
  bash: `_muster() {
  local IFS=$'\\n' words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=($(muster complete -- "\${words[@]}" 2>/dev/null))
}
complete -o bashdefault -o default -F _muster muster`,
  zsh: `#compdef muster
_muster() {
  local -a found=("\${(@f)$(muster complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n \${found[1]} ]]; then compadd -- $found; else _files; fi
}
compdef _muster muster`,
  fish: `function __muster
  set -l found (muster complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if test -n "$found"
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c muster -f -a '(__muster)'`,
} as const

/**
 * Adds `muster completion`, which prints a script for the user's shell, and `muster complete`, which prints candidates for this
 * script.
 */
export function addCompletionCommand(program: Command, context: CommandContext): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .description('print a completion script, for example: source <(muster completion bash)')
    .action((shell: keyof typeof SCRIPTS, _: object, command: Command) => {
      context.print(command, { shell, script: SCRIPTS[shell] }, SCRIPTS[shell])
    })
  program
    .command('complete [words...]', { hidden: true })
    .action((words: string[], _: object, command: Command) => {
      const found = candidates(program, words)
      if (found.length > 0) context.print(command, found, found.join('\n'))
    })
}

/** Returns the completion candidates for the last word. The list is empty where a file, an id or free text is expected. */
function candidates(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? ''
  let command = program
  let operands = 0
  let open: Command['options'][number] | undefined
  for (const word of words.slice(0, -1)) {
    if (open) open = undefined
    else if (word.startsWith('-'))
      open = optionsOf(command).find(
        one => (one.long === word || one.short === word) && (one.required || one.optional),
      )
    else {
      const next = operands === 0 ? subcommand(command, word) : undefined
      if (next) command = next
      else operands++
    }
  }
  const all = open
    ? (open.argChoices ?? [])
    : typed.startsWith('-')
      ? optionsOf(command).flatMap(({ long }) => long ?? [])
      : [
          ...(operands === 0 ? visible(command).map(one => one.name()) : []),
          ...(command.registeredArguments[operands]?.argChoices ?? []),
        ]
  return all.filter(word => word.startsWith(typed))
}

function optionsOf(command: Command): Command['options'][number][] {
  return [...command.options, ...(command.parent ? optionsOf(command.parent) : [])]
}

function subcommand(command: Command, name: string): Command | undefined {
  return command.commands.find(one => one.name() === name || one.aliases().includes(name))
}

function visible(command: Command): Command[] {
  return command.createHelp().visibleCommands(command)
}

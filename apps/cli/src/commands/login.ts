import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import type { GlobalOptions } from '../config.ts'
import { homeConfigPath, originOf, proxyUrlOf, userToken, writeAccess } from '../config.ts'
import { CliError, EXIT } from '../errors.ts'

/** Adds `muster login`, which prompts for hub and token, tests them, and stores them for later calls. Also adds `muster whoami`. */
export function addLoginCommand(program: Command, context: CommandContext): void {
  program
    .command('login')
    .alias('configure')
    .description('store a hub and a user token for later calls; the token is read from standard input')
    .option('--local', 'store them in this folder, in .muster-cli.toml')
    .action(async (options: { local?: boolean }, command: Command) => {
      const { hub, token, proxyUrl } = command.optsWithGlobals<GlobalOptions>()
      const answers = await ask(context, {
        ...((hub ?? context.environment.MUSTER_HUB) === undefined && { hub: 'Hub address: ' }),
        ...(token === undefined && { token: 'User token (Settings, Security): ' }),
      })
      const hubUrl = originOf(hub ?? context.environment.MUSTER_HUB ?? answers.hub ?? '')
      const access = {
        hubUrl,
        token: userToken((token ?? answers.token ?? '').trim()),
        ...(proxyUrl !== undefined && { proxyUrl: proxyUrlOf(proxyUrl) }),
      }
      const { actor } = await context.invokeAt(access, 'actor_GetActor', {})
      if (actor.actor !== 'UserToken')
        throw new CliError('The hub does not know this token. Make one under Settings, Security.', {
          exitCode: EXIT.refused,
        })
      const path = options.local ? '.muster-cli.toml' : homeConfigPath(context.environment)
      await writeAccess(path, access)
      context.print(
        command,
        { hubUrl, userId: actor.userId, config: path },
        `Signed in at ${hubUrl}; stored in ${path}.`,
      )
    })
  program
    .command('whoami')
    .description('show the person of the token')
    .action(async (_options: object, command: Command) => {
      const { actor } = await context.invoke(command, 'actor_GetActor', {})
      const { hubUrl } = await context.access(command)
      if (actor.actor !== 'UserToken')
        throw new CliError('The hub does not know this token. Run `muster login`.', {
          exitCode: EXIT.refused,
        })
      context.print(command, { hubUrl, ...actor }, `${actor.userId} at ${hubUrl}`)
    })
}

/**
 * Reads an answer to each question from standard input, one line each. On a terminal, the questions are shown, and the token is not
 * echoed.
 */
async function ask(
  { input, ask: show, signal }: CommandContext,
  questions: Record<string, string>,
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  if (Object.keys(questions).length === 0) return answers
  const stream = input()
  // readline switches off the terminal's own echo, so this stream shows what is typed, except the token. `show` writes to the terminal
  // even if standard error is redirected to a file.
  const isTyped = 'isTTY' in stream && stream.isTTY === true
  let isSecret = false
  const echo = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      if (isTyped && !isSecret) show(chunk)
      done()
    },
  })
  const lines = createInterface({ input: stream, output: echo, terminal: isTyped })
  try {
    const next = lines[Symbol.asyncIterator]()
    for (const [name, question] of Object.entries(questions)) {
      if (isTyped) show(question)
      isSecret = name === 'token'
      const line = await Promise.race([next.next(), aborted(signal)])
      if (isTyped && isSecret) show('\n')
      if (line.done) throw new CliError(`Found no ${name} on standard input.`, { exitCode: EXIT.usage })
      answers[name] = line.value.trim()
    }
    return answers
  } finally {
    lines.close()
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

import { readFile } from 'node:fs/promises'
import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { Argument, type Command, Option } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'

type Format = ActionInput<'webhooks_Create'>['format']
type Answer = ActionOutput<'webhooks_Test'>['test']

const FORMATS: readonly Format[] = ['standard', 'slack', 'teams', 'matrix', 'ntfy', 'pagerduty', 'custom']

type CreateOptions = {
  url: string
  format: Format
  project?: string
  types?: string[]
  room?: string
  credential?: string
  template?: string
  test: boolean
}

/** Adds `muster webhooks`: webhooks of an organization, their log, and what was not delivered. */
export function addWebhookCommands(program: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = program.command('webhooks').description('webhooks of an organization, for its administrators')
  group
    .command('list <organization>')
    .description('list the webhooks, by name')
    .action(async (organizationId: string, _: object, command: Command) => {
      printTable(command, await readList(context, command, 'webhooks_Query', { organizationId }), [
        { title: 'Id', of: row => row.webhookId },
        { title: 'Name', of: row => row.name },
        { title: 'Format', of: row => row.format },
        { title: 'Address', of: row => row.address },
        { title: 'State', of: row => row.state },
        { title: 'Waiting', of: row => row.waitingCount },
        { title: 'Last success', of: row => row.lastSuccessAt },
      ])
    })
  group
    .command('info <webhook>')
    .description('show a webhook with its state')
    .action(async (webhookId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'webhooks_GetDetails', { webhookId }))
    })
  group
    .command('create <organization> <name>')
    .description(
      'make a webhook, after its receiver has answered a test; prints its signing secret, which is shown once',
    )
    .requiredOption('--url <url>', 'address of the receiver')
    .addOption(new Option('--format <format>', 'form of the messages').choices(FORMATS).default('standard'))
    .option('--project <project>', 'only messages of this project')
    .option('--types <types>', 'only these types, such as devices.Created,projects.*', text =>
      text.split(','),
    )
    .option('--room <room>', 'id of the room, for matrix')
    .option('--credential <text>', 'access token, routing key, or value of the header Authorization')
    .option('--template <file>', 'file with the JSON that is sent, for custom')
    .option('--no-test', 'make it without a test')
    .action(async (organizationId: string, name: string, options: CreateOptions, command: Command) => {
      const { url, format, project, types, room, credential, template, test } = options
      const made = await invoke(command, 'webhooks_Create', {
        organizationId,
        name,
        url,
        format,
        isTested: test,
        ...(project && { projectId: project }),
        ...(types && { types }),
        ...(room && { room }),
        ...(credential && { credential }),
        ...(template && { template: await readFile(template, 'utf8') }),
      })
      if (made.result === 'TestFailed')
        throw new CliError(
          `The receiver did not take the test message: ${answerText(made.test)} Use --no-test to make the webhook anyway.`,
        )
      print(command, made, `${made.webhookId}\n${made.signingSecret}`)
    })
  for (const isOn of [true, false])
    group
      .command(`${isOn ? 'on' : 'off'} <webhook>`)
      .description(
        isOn
          ? 'turn a webhook on, and send what waits'
          : 'turn a webhook off; what waits is kept for 30 days',
      )
      .action(async (webhookId: string, _: object, command: Command) => {
        const { name, types, room, template } = await invoke(command, 'webhooks_GetDetails', { webhookId })
        const kept = { name, ...(types && { types }), ...(room && { room }), ...(template && { template }) }
        const answer = await invoke(command, 'webhooks_Set', { webhookId, ...kept, isOn })
        print(command, answer, isOn ? 'Turned on.' : 'Turned off.')
      })
  group
    .command('test <webhook>')
    .description('send a test message, and show what the receiver answers')
    .action(async (webhookId: string, _: object, command: Command) => {
      const { test } = await invoke(command, 'webhooks_Test', { webhookId })
      if (!test.isSuccess) throw new CliError(`The receiver did not take the message: ${answerText(test)}`)
      print(command, test, answerText(test))
    })
  group
    .command('log <webhook>')
    .description('list attempts to deliver messages, newest first')
    .option('--failed', 'only attempts without success')
    .option('--limit <count>', 'maximum number of rows; 100 by default', wholeNumber(1), 100)
    .action(
      async (
        webhookId: string,
        { failed = false, limit }: { failed?: boolean; limit: number },
        command: Command,
      ) => {
        const filter = failed ? { filter: { isSuccess: false } } : {}
        const rows = await readList(
          context,
          command,
          'webhooks_QueryAttempts',
          { webhookId, ...filter },
          limit,
        )
        printTable(command, rows, [
          { title: 'Time', of: row => row.attemptedAt },
          { title: 'Type', of: row => row.type },
          { title: 'Answer', of: row => row.status ?? row.error },
          { title: 'Took ms', of: row => row.tookMs },
          { title: 'Attempt', of: row => row.attempt },
          { title: 'Message', of: row => row.messageId },
        ])
      },
    )
  group
    .command('replay <webhook> [message]')
    .description('send a message again, or with --failed-since all that were not delivered')
    .option('--failed-since <time>', 'such as 2026-11-30T14:00:00Z')
    .action(
      async (
        webhookId: string,
        messageId: string | undefined,
        { failedSince }: { failedSince?: string },
        command: Command,
      ) => {
        if ((messageId === undefined) === (failedSince === undefined))
          throw new CliError('Expected either a message id or --failed-since.', { exitCode: 2 })
        if (messageId !== undefined) {
          print(
            command,
            await invoke(command, 'webhooks_ResendMessage', { webhookId, messageId }),
            'It is sent again.',
          )
          return
        }
        const answer = await invoke(command, 'webhooks_ResendFailed', { webhookId, since: failedSince! })
        print(command, answer, `Messages that are sent again: ${answer.messageCount}`)
      },
    )
  group
    .command('rotate <webhook>')
    .description('make a new signing secret; the one before signs too for 24 h')
    .action(async (webhookId: string, _: object, command: Command) => {
      const made = await invoke(command, 'webhooks_ResetSecret', { webhookId })
      print(command, made, made.signingSecret)
    })
  group
    .command('start <webhook>')
    .description('start a webhook that a restore holds')
    .addArgument(new Argument('<waiting>', 'what to do with messages that wait').choices(['send', 'drop']))
    .action(async (webhookId: string, waiting: 'send' | 'drop', _: object, command: Command) => {
      const input = { webhookId, waiting: waiting === 'send' ? ('Send' as const) : ('Drop' as const) }
      print(command, await invoke(command, 'webhooks_StartDelivery', input), 'Started.')
    })
  group
    .command('delete <webhook>')
    .description('delete a webhook, after a last message')
    .action(async (webhookId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'webhooks_Delete', { webhookId }), 'Deleted.')
    })
}

function answerText({ status, error, tookMs, answer }: Answer): string {
  const what = status === undefined ? (error ?? 'No answer.') : `Answered ${status} after ${tookMs} ms.`
  return answer ? `${what} ${JSON.stringify(answer)}` : what
}

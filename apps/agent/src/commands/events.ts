import { TIMESTAMP_TEXT } from '@muster/actions/client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { type EventOptions, emitEvent, SEVERITIES } from '../emit.ts'
import { type JsonText, parseJsonText } from '../json-text.ts'
import { argument, configOf, withIdentityOptions } from './identity-options.ts'

type EmitOptions = {
  severity: EventOptions['severity']
  category?: string
  attribute: Record<string, JsonText>
  emittedAt?: string
}

/** Adds the command `events emit`, which uploads one event of this device (docs/protocol.md 8.3). */
export function addEventCommands(program: Command, context: CommandContext): void {
  const events = program.command('events').description('Events of this device.')
  withIdentityOptions(events.command('emit'))
    .description('Uploads one event and prints its id. Queues the event if the hub cannot be reached.')
    .addOption(
      new Option('--severity <severity>', 'severity of the event').choices(SEVERITIES).default('info'),
    )
    .option('--category <category>', 'category of the event', argument('1 to 128 characters', categoryOf))
    .option('--attribute <key=json>', 'attribute to search for; can be repeated', addAttribute, {})
    .option(
      '--emitted-at <time>',
      'time of the event, in RFC 3339 (default: now)',
      argument('RFC 3339 with an offset', timeOf),
    )
    .argument('<json>', 'what happened', argument('JSON', parseJsonText))
    .action(async (body: JsonText, options: EmitOptions, command: Command) => {
      const { severity, category, attribute: attributes, emittedAt } = options
      const event = { severity, category, attributes, emittedAt }
      const running = { signal: context.signal, log: context.log(command) }
      context.print(await emitEvent(await configOf(command, context), body, event, running))
    })
}

function addAttribute(text: string, before: Record<string, JsonText>): Record<string, JsonText> {
  const equals = text.indexOf('=')
  const value = equals > 0 ? parseJsonText(text.slice(equals + 1)) : undefined
  if (value === undefined) throw new InvalidArgumentError('Expected KEY=JSON, for example path=\'"/data"\'.')
  return { ...before, [text.slice(0, equals)]: value }
}

function categoryOf(text: string): string | undefined {
  return text.length >= 1 && text.length <= 128 ? text : undefined
}

function timeOf(text: string): string | undefined {
  const date = text.slice(0, 10)
  const isTime = new RegExp(TIMESTAMP_TEXT).test(text)
  // `Date` takes the 30th of February as the 2nd of March.
  return isTime && new Date(date).toISOString().startsWith(date) ? text : undefined
}

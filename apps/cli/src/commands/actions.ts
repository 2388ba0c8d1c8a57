import { text as readAll } from 'node:stream/consumers'
import { type ActionName, actions, findAction } from '@muster/actions'
import { isJsonObject, parseExact } from '@muster/actions/exact-json'
import { openApiDocument } from '@muster/actions/openapi'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { CliError, EXIT } from '../errors.ts'

type FieldSchema = { type?: string | string[]; enum?: unknown[]; anyOf?: FieldSchema[]; description?: string }
type InputSchema = { properties?: Record<string, FieldSchema>; required?: string[] }
type Paths = Record<
  string,
  { post: { requestBody: { content: { 'application/json': { schema: InputSchema } } } } }
>

/**
 * Adds `muster actions`, which runs any action of the contract by its name. The input is given as JSON, as one option per
 * field, or in both ways. This module is loaded only for `muster actions`: the contract would double the start-up time of all
 * other commands.
 */
export function addActionCommands(group: Command, context: CommandContext): void {
  group.configureHelp({ subcommandTerm: command => command.name() })
  group
    .command('list')
    .description('list the actions with a summary')
    .action((_: object, command: Command) => {
      const rows = Object.entries(actions).map(([name, { kind, summary }]) => ({ name, kind, summary }))
      context.printTable(command, rows, [
        { title: 'Action', of: row => row.name },
        { title: 'Kind', of: row => row.kind },
        { title: 'What it does', of: row => row.summary },
      ])
    })
  group
    .command('execute <name> [input]')
    .description('run an action, also by an older name; its input is JSON, "-" reads it from standard input')
    .action(async (name: string, input: string | undefined, _: object, command: Command) => {
      const known = findAction(name)
      if (!known)
        throw new CliError(`There is no action "${name}". See \`muster actions list\`.`, {
          exitCode: EXIT.usage,
        })
      const output = await context.invoke(command, known.name, (await inputOf(context, input)) as never)
      context.print(command, output)
    })
  const paths = openApiDocument().paths as Paths
  for (const [name, { summary }] of Object.entries(actions)) {
    const { schema } = paths[`/api/v1/actions/invoke/${name}`]!.post.requestBody.content['application/json']
    addActionCommand(group, context, { name: name as ActionName, summary, schema })
  }
}

function addActionCommand(
  group: Command,
  context: CommandContext,
  { name, summary, schema }: { name: ActionName; summary: string; schema: InputSchema },
): void {
  const { properties = {}, required = [] } = schema
  const command = group
    .command(name)
    .argument('[input]', 'input as a JSON object; "-" reads it from standard input')
    .description(summary)
  for (const [field, { description = '', ...type }] of Object.entries(properties)) {
    const words = required.includes(field) ? `${description} (required)` : description
    command.option(`--${kebab(field)} <${isText(type) ? 'text' : 'json'}>`, words.trim())
  }
  command.action(async (text: string | undefined, given: Record<string, string>) => {
    const input = await inputOf(context, text)
    for (const [field, type] of Object.entries(properties)) {
      const value = given[camel(field)]
      if (value !== undefined) input[field] = isText(type) ? value : parse(value, `--${kebab(field)}`)
    }
    context.print(command, await context.invoke(command, name, input as never))
  })
}

async function inputOf(context: CommandContext, text = '{}'): Promise<Record<string, unknown>> {
  const value = parse(text === '-' ? await readAll(context.input()) : text, 'The input')
  if (isJsonObject(value)) return value
  throw new CliError('Found an input that is not a JSON object, expected one.', { exitCode: EXIT.usage })
}

/** True if a field is a string, which needs no JSON quotes on the command line. */
function isText({ type, anyOf, enum: values }: FieldSchema): boolean {
  if (anyOf) return anyOf.filter(one => one.type !== 'null').every(isText)
  if (values) return values.every(value => value === null || typeof value === 'string')
  return type !== undefined && [type].flat().every(one => one === 'string' || one === 'null')
}

function kebab(field: string): string {
  return field.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

/** The key under which commander stores an option: `s3Config` for `--s3-config`. */
function camel(field: string): string {
  return kebab(field).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function parse(text: string, what: string): unknown {
  try {
    return parseExact(text)
  } catch (cause) {
    throw new CliError(`${what} is not JSON: ${(cause as Error).message}.`, { exitCode: EXIT.usage, cause })
  }
}

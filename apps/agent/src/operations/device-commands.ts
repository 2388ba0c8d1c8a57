import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { ConfigError } from '../config-error.ts'
import { ConfigTable } from '../config-table.ts'
import { codeOf, describeError } from '../describe-error.ts'
import type { Log } from '../log.ts'

/** A command that this device offers, from a file in the folder of commands (docs/protocol.md 8.1). */
export type DeviceCommand = {
  name: string
  description?: string
  category?: string
  /** JSON Schemas of the input and the output, which the manifest has for people and programs that call the command. */
  input?: unknown
  output?: unknown
  /** Program and its arguments. */
  handler: readonly string[]
}

/** Property with the commands of a device. */
export const COMMANDS_PROPERTY = 'dev.nexigon.commands'

const MAX_COMMANDS = 256
const MAX_FILE_BYTES = 256 * 1024
const MAX_TIMEOUT_SECS = 86_400
/** Names of commands and tasks. */
export const WORK_NAME = /^[A-Za-z0-9._-]{1,128}$/

/**
 * Reads the commands in a folder, one TOML file each. A file with a mistake is left out with a warning, so that it does not take the other
 * commands away. So is a second command of a name.
 */
export async function readCommands(folder: string, log: Log): Promise<DeviceCommand[]> {
  const commands = new Map<string, DeviceCommand>()
  for (const file of await filesIn(folder, log)) {
    const path = join(folder, file)
    try {
      const { size } = await stat(path)
      if (size > MAX_FILE_BYTES)
        throw new ConfigError(`${path}: found ${size} bytes, expected at most ${MAX_FILE_BYTES}`)
      const command = parseCommand(await readFile(path, 'utf8'), path)
      if (commands.has(command.name))
        throw new ConfigError(`${path}: found a second command ${command.name}, expected another name`)
      commands.set(command.name, command)
    } catch (error) {
      log.warn(`command left out: ${describeError(error)}`)
    }
  }
  return [...commands.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

async function filesIn(folder: string, log: Log): Promise<string[]> {
  try {
    const files = (await readdir(folder)).filter(file => file.endsWith('.toml')).toSorted()
    if (files.length > MAX_COMMANDS)
      log.warn(`${folder}: found ${files.length} commands, only the first ${MAX_COMMANDS} are offered`)
    return files.slice(0, MAX_COMMANDS)
  } catch (error) {
    log.warn(`commands.directory: found ${folder} (${codeOf(error) ?? 'not readable'}), expected a folder`)
    return []
  }
}

/** Parses the definition of a command. Throws `ConfigError` with the key, the found and the expected value. */
function parseCommand(text: string, path: string): DeviceCommand {
  const file = new ConfigTable(parse(text), path)
  const command = file.required('command', 'a table [command]', file.table('command'))
  const exec = file.required('exec', 'a table [exec]', file.table('exec'))
  const expected = '1 to 128 letters, digits, dots, underscores or dashes'
  const name = command.required('name', expected, command.text('name'))
  if (!WORK_NAME.test(name)) throw command.wrong('name', expected)
  const description = command.text('description')
  const category = command.text('category')
  const [input, output] = (['input', 'output'] as const).map(key => schemaIn(file.table(key)))
  // The time-out is that of commands on demand. A step of an operation has its own.
  exec.integer('timeout', 1, MAX_TIMEOUT_SECS)
  return {
    name,
    ...(description !== undefined && { description }),
    ...(category !== undefined && { category }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    handler: handlerIn(exec),
  }
}

/** Program and arguments of a command or task. */
export function handlerIn(table: ConfigTable): readonly string[] {
  return table.required('handler', 'a list with a program and its arguments', table.texts('handler', 1, 64))
}

function schemaIn(table: ConfigTable | undefined): unknown {
  const text = table?.text('schema')
  if (table === undefined || text === undefined) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw table.wrong('schema', 'a JSON Schema as text')
  }
}

/** Value of the property with the commands of this device. */
export function manifestOf(commands: readonly DeviceCommand[]): unknown {
  return { commands: commands.map(({ handler: _, ...shown }) => shown) }
}

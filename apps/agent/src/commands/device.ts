import { isPropertyName } from '@muster/actions/client'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { type JsonText, parseJsonText } from '../json-text.ts'
import { getProperty, issueToken, printDeviceId, removeProperty, setProperty } from '../one-shot.ts'
import { argument, oneShotsFor, withIdentityOptions } from './identity-options.ts'

const propertyName = argument('a name of 1 to 256 letters, digits, dots, underscores and dashes', text =>
  isPropertyName(text) ? text : undefined,
)

/** Adds the command group `device`, which reads and changes this device's records at the hub. */
export function addDeviceCommands(program: Command, context: CommandContext): void {
  const device = program.command('device').description('This device at its hub.')
  const properties = device.command('properties').description('Properties of this device.')
  const run = oneShotsFor(context)

  withIdentityOptions(device.command('id'))
    .description('Prints the id of this device.')
    .action((_options, command: Command) => run(command, printDeviceId))
  withIdentityOptions(device.command('tokens').description('JWTs of this device.').command('issue'))
    .description('Issues a JWT with which this device identifies itself to other systems, and prints it.')
    .option('--valid-for <seconds>', 'validity in seconds', argument('a whole number from 1', secondsOf))
    .option('--claims <json>', 'further claims', argument('JSON', parseJsonText))
    .action(({ validFor, claims }: { validFor?: number; claims?: JsonText }, command: Command) =>
      run(command, issueToken(validFor, claims)),
    )
  withIdentityOptions(properties.command('get'))
    .description('Prints one property as JSON.')
    .argument('<name>', 'name of the property', propertyName)
    .action((name: string, _options, command: Command) => run(command, getProperty(name)))
  withIdentityOptions(properties.command('set'))
    .description('Sets one property.')
    .argument('<name>', 'name of the property', propertyName)
    .argument('<json>', 'its value, stored exactly as written', argument('JSON', parseJsonText))
    .action((name: string, value: JsonText, _options, command: Command) =>
      run(command, setProperty(name, value)),
    )
  withIdentityOptions(properties.command('remove'))
    .description('Removes one property.')
    .argument('<name>', 'name of the property', propertyName)
    .action((name: string, _options, command: Command) => run(command, removeProperty(name)))
}

function secondsOf(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

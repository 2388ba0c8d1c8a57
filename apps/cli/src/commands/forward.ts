import { type Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from '../command-context.ts'
import type { Mapping } from '../forward.ts'

/** Adds `muster forward`, which forwards ports of this machine to ports of a device (docs/protocol.md 3.4). */
export function addForwardCommand(program: Command, context: CommandContext): void {
  program
    .command('forward <device>')
    .argument('<local:remote...>', 'local port, 0 for a free one, and port of the device', addMapping)
    .description('make ports of a device reachable as ports of this machine, until Ctrl-C')
    .action(async (deviceId: string, mappings: Mapping[], _: object, command: Command) => {
      // Checks the device id now. Otherwise a wrong id would be reported only at the first connection to a local port.
      await context.invoke(command, 'devices_GetDetails', { deviceId })
      const access = await context.access(command)
      const onListening = (forwards: Mapping[]) => {
        const lines = forwards.map(
          ({ localPort, remotePort }) => `127.0.0.1:${localPort} leads to port ${remotePort} of ${deviceId}.`,
        )
        context.print(command, { deviceId, forwards }, [...lines, 'Stop with Ctrl-C.'].join('\n'))
      }
      // Imports the WebSocket and link modules on demand, so that they do not slow down the start of other commands.
      const { forward } = await import('../forward.ts')
      await forward(context, access, { deviceId, mappings, onListening })
    })
}

function addMapping(text: string, before: Mapping[] = []): Mapping[] {
  const [, localPort, remotePort] = (/^(\d{1,5}):(\d{1,5})$/.exec(text) ?? []).map(Number)
  if (
    localPort === undefined ||
    remotePort === undefined ||
    localPort > 65_535 ||
    remotePort < 1 ||
    remotePort > 65_535
  )
    throw new InvalidArgumentError('Expected LOCAL:REMOTE, for example 8080:80.')
  return [...before, { localPort, remotePort }]
}

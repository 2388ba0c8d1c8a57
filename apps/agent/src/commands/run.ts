import type { Command } from 'commander'
import { runAgent } from '../agent.ts'
import type { CommandContext } from '../command-context.ts'
import { configOf, withIdentityOptions } from './identity-options.ts'

/** Adds the command `run`, which keeps this device connected to its hub. */
export function addRunCommand(program: Command, context: CommandContext): void {
  withIdentityOptions(program.command('run'))
    .description('Connects this device to its hub and keeps it connected until stopped.')
    .option('--name <host name>', "host name to show instead of this machine's own, with --hub")
    .action(async (_options, command: Command) => {
      const config = await configOf(command, context)
      const log = context.log(command)
      const serviceManager = context.serviceManager(log)
      context.signal.addEventListener('abort', serviceManager.stopping)
      // A hub that does not answer is no reason to restart the agent, so the service is ready before it is connected.
      serviceManager.ready()
      await runAgent({ ...config, signal: context.signal, log })
    })
}

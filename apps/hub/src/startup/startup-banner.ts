import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { agentCommand, isLoopback } from '@muster/actions'
import type { Config } from '../config.ts'
import type { Hub } from '../hub.ts'

/**
 * What a person reads after a start: the address, the sign-in and two commands that work as they are. The password and the deployment
 * token go to a terminal only; a log that somebody keeps gets the name of the file (decisions, "First run").
 */
export function greeting(
  hub: Hub,
  { dataDir, allowPlaintextDevices }: Pick<Config, 'dataDir' | 'allowPlaintextDevices'>,
  isTerminal: boolean,
): string {
  const { publicUrl, address, firstRun } = hub
  const lines = ['', `Muster is running at ${publicUrl} (listening on ${address.host}:${address.port})`, '']
  if (firstRun) {
    // The command reads it from the file, as whoever may read that.
    const token = isTerminal
      ? firstRun.deploymentToken
      : `"$(node -p "require('${firstRun.file}').deploymentToken")"`
    lines.push(
      'Sign in:',
      `  email     ${firstRun.email}`,
      `  password  ${isTerminal ? firstRun.password : 'in the file below'}`,
      `  file      ${firstRun.file}`,
      '',
      'Connect this machine as the first device:',
      `  ${agentCommand(publicUrl, token)}`,
      '',
      'Or connect ten simulated devices:',
      `  ${agentCommand(publicUrl, token, 'simulate')} --count 10`,
    )
  } else {
    const file = join(dataDir, 'initial-admin.json')
    // Another node may have made the first administrator.
    const where = existsSync(file) ? `; the first administrator's is in ${file}` : ''
    lines.push(
      `Sign in with your account${where}.`,
      'To connect a device, open a project and choose "Connect a device".',
    )
  }
  if (publicUrl.startsWith('http:') && !isLoopback(publicUrl) && !allowPlaintextDevices)
    lines.push(
      '',
      'Devices are refused at this address, since anybody on the way could read along. Set MUSTER_TLS_CERT and',
      'MUSTER_TLS_KEY, or MUSTER_ALLOW_PLAINTEXT_DEVICES=1 on a network that you trust (docs/operating.md).',
    )
  lines.push('', 'Stop with Ctrl-C.', '')
  return `${lines.join('\n')}\n`
}

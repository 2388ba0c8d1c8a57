import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { agentCommand, isLoopback } from '@muster/actions'
import type { Hub } from '../hub.ts'
import type { Config } from '../platform/config/config.ts'
import { deviceUrl } from '../platform/net/device-url.ts'

/** Launcher of the agent in a release archive (`tools/release/tree.ts`). A checkout has none. */
const LAUNCHER = join(import.meta.dirname, '../../../../bin/muster-agent')

/**
 * Startup banner for people: the URL, the first account and two commands that can be run unchanged. The password is printed to a terminal
 * only. Other outputs, such as a log, get the path of the file that contains it (docs/decisions.md, "First run"). The commands read the
 * deployment token from a file, so that it appears neither in a log nor in the list of processes.
 */
export function startupBanner(
  hub: Hub,
  { dataDir, allowPlaintextDevices, tls }: Pick<Config, 'dataDir' | 'allowPlaintextDevices' | 'tls'>,
  isTerminal: boolean,
): string {
  const { publicUrl, address, firstRun, devicePort } = hub
  const forDevices = deviceUrl({ tls, devicePort }, publicUrl)
  const lines = ['', `Muster is running at ${publicUrl} (listening on ${address.host}:${address.port})`, '']
  if (firstRun) {
    const isCheckout = !existsSync(LAUNCHER)
    const command = (name: 'run' | 'simulate'): string =>
      agentCommand(forDevices, firstRun.tokenFile, name, isCheckout ? undefined : LAUNCHER)
    lines.push(
      'Sign in:',
      `  email     ${firstRun.email}`,
      `  password  ${isTerminal ? firstRun.password : 'in the file below'}`,
      `  file      ${firstRun.file}`,
      '',
      'Connect this machine as the first device:',
      `  ${command('run')}`,
      '',
      'Or connect ten simulated devices:',
      `  ${command('simulate')} --count 10`,
    )
  } else {
    const file = join(dataDir, 'initial-admin.json')
    // In a cluster, only the node that created the first administrator has the file. The banner of other nodes does not mention it.
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

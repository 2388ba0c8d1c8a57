import { proxyName } from '@muster/link/site-proxy'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import type { HubCredentials } from '../hub-connection.ts'
import { loadCredentials } from '../identity.ts'
import { adviceOn } from '../refusal.ts'
import { openSession } from '../session.ts'
import { configOf, withIdentityOptions } from './identity-options.ts'

/** Deadline of each attempt, in milliseconds: more than that of a connection through a proxy (15 s). */
const ATTEMPT_MS = 30_000

/** Adds the command `doctor`, which tries each way to the hub, through the proxy and directly, and says what happens. */
export function addDoctorCommand(program: Command, context: CommandContext): void {
  withIdentityOptions(program.command('doctor'))
    .description('Connects to the hub through the proxy and directly, and prints what happens.')
    .action(async (_options, command: Command) => {
      const config = await configOf(command, context)
      const credentials = await loadCredentials(config, context.signal)
      const { hubUrl, proxy } = credentials
      context.print(`Hub: ${hubUrl}`)
      context.print(`Proxy: ${proxy ? proxyName(proxy) : 'none (proxy-url, HTTPS_PROXY, HTTP_PROXY)'}`)
      const throughProxy = proxy && (await attempt(credentials, context.signal))
      if (throughProxy) context.print(`Through the proxy: ${throughProxy.text}`)
      const directly = await attempt({ ...credentials, proxy: undefined }, context.signal)
      context.print(`Directly: ${directly.text}`)
      if (!throughProxy?.isConnected && !directly.isConnected)
        throw new Error('found no way to the hub on which it accepts this device')
    })
}

async function attempt(
  credentials: HubCredentials,
  signal: AbortSignal,
): Promise<{ isConnected: boolean; text: string }> {
  let proxyFailure: string | undefined
  const late = AbortSignal.timeout(ATTEMPT_MS)
  try {
    const { deviceId, link } = await openSession(credentials, {
      isRegistered: false,
      signal: AbortSignal.any([signal, late]),
      onProxyFailure: ({ message }) => {
        proxyFailure = message
      },
    })
    link.close()
    return { isConnected: proxyFailure === undefined, text: proxyFailure ?? `connected as ${deviceId}` }
  } catch (error) {
    signal.throwIfAborted()
    const text = late.aborted
      ? `found no connection to the hub within ${ATTEMPT_MS / 1000} s`
      : adviceOn(error)
    return { isConnected: false, text: proxyFailure ?? text }
  }
}

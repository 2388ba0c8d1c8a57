import { isLoopback } from '@muster/actions/client'
import { VERSION } from '@muster/actions/version'
import { proxyFor } from '@muster/link/site-proxy'
import { type Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { type AgentConfig, configFromOptions, DEFAULT_CONFIG_PATH, readConfigFile } from '../config.ts'
import { type OneShot, runOneShot } from '../one-shot.ts'
import { readTokenFile } from '../token-file.ts'
import { trustSystemAuthorities } from '../trust.ts'

/** Options for the device's identity and its hub. `--config` may also stand before the command (docs/protocol.md 7.1). */
type IdentityOptions = {
  config?: string
  hub?: string
  token?: string
  tokenFile?: string
  data?: string
  name?: string
  fingerprintScript?: string
  dangerousAllowPlaintext?: boolean
  dangerousAcceptInvalidCertificates?: boolean
  proxyUrl?: string
}

/** Adds the options for the device's identity and its hub to a command. */
export function withIdentityOptions(command: Command): Command {
  return command
    .option('--hub <url>', 'address of the hub, instead of a configuration file')
    .option('--token <token>', 'deployment token, together with --hub; other accounts can see it')
    .option('--token-file <file>', 'file of mode 0600 with the token, instead of a question at the terminal')
    .option(
      '--data <folder>',
      'folder for the identity of this device, with --hub (default: ~/.local/state/muster-agent)',
    )
    .option('--fingerprint-script <file>', 'program whose output identifies the device, with --hub')
    .option('--proxy-url <url>', 'HTTP proxy that leads to the hub, with --hub (default: HTTPS_PROXY)')
    .option('--dangerous-allow-plaintext', 'allow http:// to other machines, with --hub')
    .option('--dangerous-accept-invalid-certificates', 'accept any certificate of the hub, with --hub')
}

/**
 * Reads the agent's configuration from the options, and asks for the token if it is missing. Ends the command with a usage error if the
 * options contradict each other.
 */
export async function configOf(command: Command, context: CommandContext): Promise<AgentConfig> {
  const { config: path, hub, token, tokenFile, ...rest } = command.optsWithGlobals<IdentityOptions>()
  const hasToken = token !== undefined || tokenFile !== undefined
  if (path !== undefined && (hub !== undefined || hasToken))
    command.error('error: --config and --hub exclude each other', { exitCode: 2 })
  if (hub === undefined && hasToken)
    command.error('error: --hub and --token belong together', { exitCode: 2 })
  const hasRest = Object.entries(rest).some(([key, value]) => key in HUB_ONLY && value !== undefined)
  if (hub === undefined && hasRest)
    command.error(`error: ${Object.values(HUB_ONLY).join(', ')} need --hub and --token`, { exitCode: 2 })
  const config =
    hub === undefined
      ? await readConfigFile(path ?? DEFAULT_CONFIG_PATH)
      : configFromOptions({ hub, token: await tokenOf(command, context, { hub, token, tokenFile }), ...rest })
  const { hubUrl, proxyUrl } = config
  const { environment } = context
  const proxy = proxyFor(hubUrl, { proxyUrl, environment, isLocal: isLoopback(hubUrl) })
  if (hubUrl.startsWith('https:') || proxy?.url.startsWith('https:')) trustSystemAuthorities()
  return proxy ? { ...config, proxy } : config
}

type TokenOptions = { hub: string; token: string | undefined; tokenFile: string | undefined }

/** The deployment token: from its option, from a file, or typed at the terminal. Without a terminal, a missing token is a usage error. */
export async function tokenOf(
  command: Command,
  { ask }: CommandContext,
  { hub, token, tokenFile }: TokenOptions,
): Promise<string> {
  if (token !== undefined && tokenFile !== undefined)
    command.error('error: --token and --token-file exclude each other', { exitCode: 2 })
  if (tokenFile !== undefined) return readTokenFile(tokenFile)
  if (token !== undefined) return token
  if (!ask) {
    command.error(
      'error: --hub needs --token-file or --token, because there is no terminal to ask for the token',
      {
        exitCode: 2,
      },
    )
  }
  return ask(`Muster agent ${VERSION} for ${hub}\nDeployment token: `)
}

/** Returns a function that connects as the device that the command's options identify, runs one action and prints its result. */
export function oneShotsFor(context: CommandContext): (command: Command, oneShot: OneShot) => Promise<void> {
  return async (command, oneShot) =>
    context.print(await runOneShot(await configOf(command, context), oneShot, context.signal))
}

const HUB_ONLY = {
  data: '--data',
  name: '--name',
  fingerprintScript: '--fingerprint-script',
  dangerousAllowPlaintext: '--dangerous-allow-plaintext',
  dangerousAcceptInvalidCertificates: '--dangerous-accept-invalid-certificates',
  proxyUrl: '--proxy-url',
}

/**
 * Creates the parser of an option or argument. If `read` returns undefined, the parser throws a usage error that names the
 * expected form.
 */
export function argument<T>(expected: string, read: (text: string) => T | undefined): (text: string) => T {
  return text => {
    const value = read(text)
    if (value === undefined) throw new InvalidArgumentError(`Expected ${expected}.`)
    return value
  }
}

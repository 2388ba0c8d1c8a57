import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isLoopback, withoutSecrets } from '@muster/actions/client'
import { isProxyUrl, proxyFor, type SiteProxy } from '@muster/link/site-proxy'
import { CliError, EXIT } from './errors.ts'

/** Options that every command accepts. */
export type GlobalOptions = {
  hub?: string
  token?: string
  config?: string
  proxyUrl?: string
  json?: boolean
}

/** URL of a hub, a user token for it, and the proxy that leads to it, if a setting names one. */
export type Access = { hubUrl: string; token: string; proxyUrl?: string }

const LOGIN = 'Run `muster login`, or give --hub and --token (MUSTER_HUB, MUSTER_TOKEN).'

/** Home folder of the account, or `/` for an account without a home folder, as in containers. */
function homeOf(environment: NodeJS.ProcessEnv): string {
  try {
    return environment.HOME || homedir()
  } catch {
    return '/'
  }
}

/** Path of the file that `muster login` writes. */
export function homeConfigPath(environment: NodeJS.ProcessEnv): string {
  const folder = environment.XDG_CONFIG_HOME || join(homeOf(environment), '.config')
  return join(folder, 'muster', 'cli.toml')
}

/**
 * Finds hub and token in the options, else in the environment, else in a file. With `--config` only the named file is read.
 * Without that option the first existing file is read: `.muster-cli.toml` in the current folder, the file of `muster login`, or
 * a file of the published Nexigon CLI (docs/protocol.md 7.1). Throws `CliError` if hub or token is missing or invalid, or if the file
 * cannot be read or parsed.
 */
export async function readAccess(options: GlobalOptions, environment: NodeJS.ProcessEnv): Promise<Access> {
  const given = {
    hubUrl: (options.hub ?? environment.MUSTER_HUB)?.trim(),
    // A variable that is read from a file often ends with a line break.
    token: (options.token ?? environment.MUSTER_TOKEN)?.trim(),
  }
  const file =
    given.hubUrl && given.token && !options.config ? {} : await readFirst(options.config, environment)
  const hubUrl = given.hubUrl || file.hubUrl
  // A token from a file is sent only to the hub that the same file names. Otherwise `--hub` could send the token to another
  // server.
  const isItsHub =
    !given.hubUrl || (file.hubUrl !== undefined && originOf(file.hubUrl) === originOf(given.hubUrl))
  const token = given.token || (isItsHub ? file.token : undefined)
  if (!hubUrl) throw new CliError(`Found no address of a hub. ${LOGIN}`, { exitCode: EXIT.usage })
  if (!token) throw new CliError(`You are not signed in. ${LOGIN}`, { exitCode: EXIT.refused })
  const proxyUrl = options.proxyUrl ?? (isItsHub ? file.proxyUrl : undefined)
  return {
    hubUrl: originOf(hubUrl),
    token: userToken(token),
    ...(proxyUrl !== undefined && { proxyUrl: proxyUrlOf(proxyUrl) }),
  }
}

/** The proxy that leads to a URL, by the setting or the environment. */
export function siteProxy(
  url: string,
  proxyUrl: string | undefined,
  environment: NodeJS.ProcessEnv,
): SiteProxy | undefined {
  return proxyFor(url, { proxyUrl, environment, isLocal: isLoopback(url) })
}

/** Checks the address of a proxy. Its text is not repeated, because it may hold a password. Throws `CliError`. */
export function proxyUrlOf(text: string): string {
  if (isProxyUrl(text)) return text
  throw new CliError(
    'Found another text as proxy-url, expected the address of a proxy, like http://proxy.example.com:3128.',
    { exitCode: EXIT.usage },
  )
}

/** Returns the origin of a hub address that a user typed. Throws `CliError` for an invalid address. */
export function originOf(text: string): string {
  const shown = withoutSecrets(text)
  // Rejects text that contains a token. A token typed as the address would parse as a host name and be sent in a DNS query.
  const url = shown === text && URL.parse(/^https?:\/\//i.test(text) ? text : `https://${text}`)
  if (!url)
    throw new CliError(`Found the hub address "${shown}", expected one like https://hub.example.com.`, {
      exitCode: EXIT.usage,
    })
  return url.origin
}

/** Checks the form of a user token, so that a mistake is reported before anything is sent. Throws `CliError`. */
export function userToken(text: string): string {
  if (/^u_sk_[1-9A-HJ-NP-Za-km-z]{66}$/.test(text)) return text
  throw new CliError(
    `Found a token of ${text.length} characters, expected u_sk_ and 66 base-58 characters. Make one under Settings, Security.`,
    { exitCode: EXIT.usage },
  )
}

/** Stores hub and token for later calls. The file is readable by the owner only and is replaced atomically. */
export async function writeAccess(path: string, { hubUrl, token, proxyUrl }: Access): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${process.pid}`
  try {
    const entries = { 'hub-url': hubUrl, token, ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }) }
    const text = Object.entries(entries)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join('')
    await writeFile(fresh, text, { mode: 0o600 })
    await chmod(fresh, 0o600)
    await rename(fresh, path)
  } finally {
    await rm(fresh, { force: true })
  }
}

async function readFirst(
  config: string | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<Partial<Access>> {
  const paths = config
    ? [resolve(config)]
    : [
        resolve('.muster-cli.toml'),
        homeConfigPath(environment),
        resolve('.nexigon-cli.toml'),
        join(homeOf(environment), '.nexigon', 'cli.toml'),
      ]
  for (const path of paths) {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!config && (code === 'ENOENT' || code === 'ENOTDIR')) continue
      throw new CliError(
        `Found no readable file ${path} (${code}), expected a configuration with hub-url and token.`,
      )
    }
    return parseConfig(text, path)
  }
  return {}
}

async function parseConfig(text: string, path: string): Promise<Partial<Access>> {
  const { parse, TomlError } = await import('smol-toml')
  try {
    const { 'hub-url': hubUrl, token, 'proxy-url': proxyUrl } = parse(text)
    return {
      ...(typeof hubUrl === 'string' && { hubUrl }),
      ...(typeof token === 'string' && { token }),
      ...(typeof proxyUrl === 'string' && { proxyUrl }),
    }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw new CliError(`${path}: line ${error.line} is not valid TOML (${error.message.split('\n')[0]}).`, {
      cause: error,
    })
  }
}

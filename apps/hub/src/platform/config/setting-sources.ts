import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { nearestName } from '../pipeline/nearest-name.ts'

/** Setting that names the configuration file. It is read from the environment only. */
const CONFIG_FILE = 'MUSTER_CONFIG_FILE'

/** Ending of a setting that names a file with the value of a secret. */
const FILE = '_FILE'
/** Maximum length, in characters, of a key that a message quotes, and for which a near name is looked for. */
const MAX_KEY_LENGTH = 64
/** Bound of a configuration file and of a file with a secret, in bytes. */
const MAX_FILE_BYTES = 1024 ** 2

/** Text of a setting and where it comes from: `environment`, or the path of a file. */
type Sourced = { text: string; from: string }

/** Texts of all settings as environment variables hold them, before their validation. */
export type SettingSources = {
  values: Map<string, Sourced>
  /** Why a setting cannot be read, one line each, by the setting. */
  problems: Map<string, string>
  /** Environment variables that look like settings and are none. */
  unknown: string[]
  /** Retired settings that are still set, by their names in the environment, each with what to do. */
  retired: Map<string, string>
}

type KnownSettings = {
  names: readonly string[]
  secrets: readonly string[]
  /** Settings that this release has retired, each with what to do. They are ignored, with a warning. */
  retired: Readonly<Record<string, string>>
}

/**
 * Reads settings from the environment and from the TOML file that `MUSTER_CONFIG_FILE` names. The environment has priority. Each secret
 * can also be in a file of its own, which the setting with the ending `_FILE` names, as systemd's credentials and container secrets are.
 * An empty text counts as absent. A key of the file that is no setting is a problem: a misspelt `signup` would leave sign-up open. Variables
 * of the environment that are none are only named, because other software may have set them.
 */
export function readSources(
  env: Record<string, string | undefined>,
  { names, secrets, retired }: KnownSettings,
): SettingSources {
  const sources: SettingSources = { values: new Map(), problems: new Map(), unknown: [], retired: new Map() }
  const known = new Set([...names, ...secrets.map(name => name + FILE)])
  const { [CONFIG_FILE]: file, ...others } = env
  addSettings(
    new Map(
      Object.entries(others).flatMap(([name, text]) =>
        name.startsWith('MUSTER_') ? [[name, text ?? '']] : [],
      ),
    ),
    'environment',
  )
  if (file) {
    try {
      addSettings(settingsOf(parse(readText(file))), resolve(file))
    } catch (error) {
      const found = `${CONFIG_FILE}: found ${resolve(file)} (${problemOf(error)})`
      sources.problems.set(CONFIG_FILE, `${found}, expected a TOML file of settings (docs/operating.md).`)
    }
  }
  return sources

  /** Adds the settings of one source, except for those that a source before has set. */
  function addSettings(texts: ReadonlyMap<string, string>, from: string): void {
    const own = new Map(
      [...texts].flatMap(([name, text]) => (known.has(name) && text !== '' ? [[name, { text, from }]] : [])),
    )
    for (const [name, text] of texts) {
      if (known.has(name)) continue
      if (Object.hasOwn(retired, name)) {
        // An empty text counts as absent.
        if (text !== '') sources.retired.set(name, retired[name]!)
      } else if (from === 'environment') sources.unknown.push(name)
      else sources.problems.set(name, unknownKey(name, from, [...known]))
    }
    for (const secret of secrets) {
      const path = own.get(secret + FILE)?.text
      if (path === undefined) continue
      own.delete(secret + FILE)
      if (sources.values.has(secret)) continue
      if (own.has(secret)) {
        sources.problems.set(secret, `${secret + FILE}: found it beside ${secret}, expected one of them.`)
        continue
      }
      try {
        // Editors and `echo` end a file with a line break, which belongs to none of the secrets.
        const text = readText(path).replace(/[\r\n]+$/, '')
        if (text === '') throw new Error('it is empty')
        own.set(secret, { text, from: resolve(path) })
      } catch (error) {
        sources.problems.set(
          secret,
          `${secret + FILE}: found ${resolve(path)} (${problemOf(error)}), expected a file with the value of ${secret}.`,
        )
      }
    }
    for (const [name, sourced] of own) if (!sources.values.has(name)) sources.values.set(name, sourced)
  }
}

/** Problem of a key in a configuration file that is no setting, with the name that was likely meant. */
function unknownKey(name: string, path: string, known: readonly string[]): string {
  const key = keyOf(name).slice(0, MAX_KEY_LENGTH)
  // A key that is written as the environment variable, such as `MUSTER_SIGNUP`, has this beginning.
  const expected =
    nearestName(key.replace(/^muster-/, ''), known.map(keyOf)) ?? 'a setting of docs/operating.md'
  return `${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)} (${path}): found a key that is no setting, expected ${expected}.`
}

/** Name of a setting in a configuration file: `MUSTER_PUBLIC_URL` is `public-url` there. */
export function keyOf(name: string): string {
  return name.slice('MUSTER_'.length).toLowerCase().replaceAll('_', '-')
}

/**
 * Settings in a table of a configuration file, by the names of their environment variables. A table's name is the beginning of the names
 * in it: `bucket` in `[s3]` is `MUSTER_S3_BUCKET`. Throws for a value that no setting can have.
 */
function settingsOf(table: Record<string, unknown>, path: readonly string[] = []): Map<string, string> {
  const settings = new Map<string, string>()
  for (const [key, value] of Object.entries(table)) {
    const keys = [...path, key]
    if (isTable(value)) for (const [name, text] of settingsOf(value, keys)) settings.set(name, text)
    else {
      const text = textOf(value)
      if (text === undefined)
        throw new Error(`${keys.join('.')}: expected a text, a whole number, true, false or a list of texts`)
      settings.set(`MUSTER_${keys.join('_').replaceAll('-', '_').toUpperCase()}`, text)
    }
  }
  return settings
}

/** The text that an environment variable would hold for a value of TOML; undefined for a value that no setting can have. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (Number.isSafeInteger(value)) return String(value)
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value.join(',')
  return undefined
}

function isTable(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === '[object Object]'
}

/** Reads a regular file of bounded size, which `/dev/zero` or a pipe is not. */
function readText(path: string): string {
  const file = statSync(path)
  if (!file.isFile()) throw new Error('it is no regular file')
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`it has ${file.size} bytes, at most ${MAX_FILE_BYTES} are read`)
  return readFileSync(path, 'utf8')
}

/** The reason of an error in one line, without the lines of the file that a TOML error quotes, because they may hold a secret. */
function problemOf(error: unknown): string {
  if (error instanceof TomlError) {
    const [problem] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    return `line ${error.line}: ${problem}`
  }
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

import { withoutSecrets } from '@muster/actions/client'
import { ConfigError } from './config-error.ts'

/** Typed reader of one table of a configuration file. A value of an unexpected type throws `ConfigError`. */
export class ConfigTable {
  readonly #values: Record<string, unknown>
  readonly #where: string
  readonly #prefix: string

  /** `where` is the file named in messages, `prefix` the table inside it, for example `telemetry.`. */
  constructor(values: Record<string, unknown>, where: string, prefix = '') {
    this.#values = values
    this.#where = where
    this.#prefix = prefix
  }

  /** Returns a non-empty string, or undefined if the key is missing. */
  text(key: string): string | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value === '') throw this.wrong(key, 'a text')
    return value
  }

  flag(key: string): boolean | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (typeof value !== 'boolean') throw this.wrong(key, 'true or false')
    return value
  }

  integer(key: string, min: number, max: number): number | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    throw this.wrong(key, `an integer from ${min} to ${max}`)
  }

  /** Returns a list of non-empty strings, or undefined if the key is missing. */
  texts(key: string, min: number, max: number): string[] | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    const isList = Array.isArray(value) && value.length >= min && value.length <= max
    if (isList && value.every(one => typeof one === 'string' && one !== '')) return value as string[]
    throw this.wrong(key, `a list of ${min} to ${max} texts`)
  }

  table(key: string): ConfigTable | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (!isTable(value)) throw this.wrong(key, `a table [${this.#prefix}${key}]`)
    return new ConfigTable(value, this.#where, `${this.#prefix}${key}.`)
  }

  tables(key: string): ConfigTable[] {
    const value = this.#values[key] ?? []
    if (!Array.isArray(value) || !value.every(isTable))
      throw this.wrong(key, `tables [[${this.#prefix}${key}]]`)
    return value.map(
      (table, index) => new ConfigTable(table, this.#where, `${this.#prefix}${key}[${index}].`),
    )
  }

  /** Returns `value`; throws `ConfigError` if it is undefined. */
  required<T>(key: string, expected: string, value: T | undefined): T {
    if (value === undefined) throw this.wrong(key, expected)
    return value
  }

  /**
   * Creates the error for a key, with the found and the expected value. For a secret, pass a description as `found`, because its
   * value must not be shown.
   */
  wrong(key: string, expected: string, found = shown(this.#values[key])): ConfigError {
    const where = this.#where === '' ? '' : `${this.#where}: `
    return new ConfigError(`${where}${this.#prefix}${key}: found ${found}, expected ${expected}`)
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (isTable(value)) return 'a table'
  return withoutSecrets(
    JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member)),
  )
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

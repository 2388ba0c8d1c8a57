import type { ActionInput } from '@muster/actions/client'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

/** A condition on the software that devices report, in the hub's format. */
export type SoftwareCondition = NonNullable<Filter['software']>

/** A condition as a search parameter of the device list, in JSON because a version may be any text. */
export function writeSoftware(condition: SoftwareCondition): string {
  return JSON.stringify(condition)
}

/** The condition in a search parameter; `undefined` for other texts. The hub validates its values. */
export function parseSoftware(text: string | undefined): SoftwareCondition | undefined {
  if (!text) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && Object.values(value).every(part => typeof part === 'string')
      ? (value as SoftwareCondition)
      : undefined
  } catch {
    return undefined
  }
}

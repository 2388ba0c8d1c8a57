import { stringify } from '@muster/actions/exact-json'
import { z } from 'zod'
import type { InPortions } from '../limits/database-shares.ts'
import { isLong } from '../limits/turns.ts'

/**
 * Checks the output of an action against its contract and writes it as JSON text. A list of many rows is checked and written in portions, so
 * that other requests do not wait for it. Throws the error of Zod for an output that breaks its contract.
 */
export async function outputText(
  contract: z.ZodType,
  output: unknown,
  inPortions: InPortions,
): Promise<string> {
  const { shape = {} } = contract instanceof z.ZodObject ? contract : {}
  const values = output as Record<string, unknown>
  const long = Object.entries(shape).find(([key, member]) => {
    const value = values[key]
    return member instanceof z.ZodArray && Array.isArray(value) && isLong(value)
  })
  if (!long) return stringify(contract.parse(output))
  const [key, { element }] = long as [string, z.ZodArray<z.ZodType>]
  const { [key]: _, ...others } = contract.parse({ ...values, [key]: [] }) as Record<string, unknown>
  const texts = await inPortions(values[key] as unknown[], portion => [
    stringify(portion.map(item => element.parse(item))).slice(1, -1),
  ])
  const rest = stringify(others).slice(1)
  return `{${JSON.stringify(key)}:[${texts.join(',')}]${rest === '}' ? '' : ','}${rest}`
}

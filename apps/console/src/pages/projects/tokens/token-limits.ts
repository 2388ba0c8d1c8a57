import type { ActionInput } from '@muster/actions/client'

type TokenLimits = ActionInput<'projects_SetDeploymentTokenLimits'>['limits']

/** Texts in the fields of `TokenLimitsDialog`. */
export type LimitTexts = {
  expiresAt: string
  deviceLimit: string
  newDevicesAtOnce: string
  newDevicesPerHour: string
}

/** Converts valid texts to limits. A blank text becomes `undefined`. Times are local, as in `datetime-local` fields. */
export function limitsOf(texts: LimitTexts): TokenLimits {
  const count = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text))
  return {
    expiresAt: texts.expiresAt === '' ? undefined : new Date(texts.expiresAt).toISOString(),
    deviceLimit: count(texts.deviceLimit),
    newDevicesAtOnce: count(texts.newDevicesAtOnce),
    newDevicesPerHour: count(texts.newDevicesPerHour),
  }
}

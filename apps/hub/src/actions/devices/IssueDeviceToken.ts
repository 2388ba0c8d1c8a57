import { ActionError, MAX_DEVICE_JWT_LENGTH } from '@muster/actions'
import { handler } from '../../handler.ts'
import type { Jwts } from '../../jwts.ts'
import { memberText, RawJson } from '../../raw-json.ts'

const DEFAULT_SECS = 3_600

export const devices_IssueDeviceToken = handler('devices_IssueDeviceToken', {
  byDevice: ({ services, inputText }, input) => issue(services.jwts, inputText, input),
  byOthers: ({ services, inputText }, input) => issue(services.jwts, inputText, input),
})

async function issue(
  jwts: Jwts,
  inputText: string,
  { deviceId, validForSecs = DEFAULT_SECS }: { deviceId: string; validForSecs?: number | undefined },
): Promise<{ jwt: string }> {
  const claims = new RawJson(memberText(inputText, 'claims') ?? 'null')
  const jwt = await jwts.signDevice({ deviceId, claims }, new Date(Date.now() + validForSecs * 1000))
  if (jwt.length > MAX_DEVICE_JWT_LENGTH) {
    throw new ActionError(
      'Invalid',
      `claims: the JWT would have ${jwt.length} characters, more than ${MAX_DEVICE_JWT_LENGTH}.`,
      { status: 413 },
    )
  }
  return { jwt }
}

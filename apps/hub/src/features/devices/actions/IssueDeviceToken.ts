import { ActionError, MAX_DEVICE_JWT_LENGTH, type ParsedInput } from '@muster/actions'
import { memberText, RawJson } from '@muster/actions/exact-json'
import type { Caller } from '../../../platform/pipeline/caller.ts'
import type { CommandContext } from '../../../platform/pipeline/command-context.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

const DEFAULT_SECS = 3_600
/** Longest validity of a JWT that a device issues for itself: 24 h, in seconds. Limits the use of a stolen device key. */
const MAX_SECS_BY_DEVICE = 24 * 60 * 60

/** Signs a JWT that contains claims from the caller. With it the device can identify itself to other systems. */
export const devices_IssueDeviceToken = handler('devices_IssueDeviceToken', {
  byDevice: issue,
  byOthers: issue,
})

async function issue(
  { caller, services, inputText }: Pick<CommandContext, 'services' | 'inputText'> & { caller: Caller },
  { deviceId, validForSecs = DEFAULT_SECS }: ParsedInput<'devices_IssueDeviceToken'>,
): Promise<{ jwt: string }> {
  const claims = new RawJson(memberText(inputText, 'claims') ?? 'null')
  const { certificateId } = caller.actor === 'Device' ? caller : {}
  // Scripts on devices with published Nexigon agents request a validity of a year. A refusal would break them, so the hub
  // shortens it.
  const secs = caller.actor === 'Device' ? Math.min(validForSecs, MAX_SECS_BY_DEVICE) : validForSecs
  const expiresAt = new Date(Date.now() + secs * 1000)
  const jwt = await services.jwts.signDevice({ deviceId, certificateId, claims }, expiresAt)
  if (jwt.length > MAX_DEVICE_JWT_LENGTH) {
    throw new ActionError(
      'Invalid',
      `claims: the JWT would have ${jwt.length} characters, more than ${MAX_DEVICE_JWT_LENGTH}.`,
      { status: 413 },
    )
  }
  return { jwt }
}

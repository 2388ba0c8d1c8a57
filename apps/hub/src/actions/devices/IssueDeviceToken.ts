import { ActionError, MAX_DEVICE_JWT_LENGTH, type ParsedInput } from '@muster/actions'
import { type CommandContext, handler } from '../../handler.ts'
import { memberText, RawJson } from '../../raw-json.ts'

const DEFAULT_SECS = 3_600

export const devices_IssueDeviceToken = handler('devices_IssueDeviceToken', {
  byDevice: issue,
  byOthers: issue,
})

async function issue(
  { services, inputText }: Pick<CommandContext, 'services' | 'inputText'>,
  { deviceId, validForSecs = DEFAULT_SECS }: ParsedInput<'devices_IssueDeviceToken'>,
): Promise<{ jwt: string }> {
  const claims = new RawJson(memberText(inputText, 'claims') ?? 'null')
  const expiresAt = new Date(Date.now() + validForSecs * 1000)
  const jwt = await services.jwts.signDevice({ deviceId, claims }, expiresAt)
  if (jwt.length > MAX_DEVICE_JWT_LENGTH) {
    throw new ActionError(
      'Invalid',
      `claims: the JWT would have ${jwt.length} characters, more than ${MAX_DEVICE_JWT_LENGTH}.`,
      { status: 413 },
    )
  }
  return { jwt }
}

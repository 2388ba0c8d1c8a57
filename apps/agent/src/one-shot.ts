import { type ActionName, isRepositoryId, parseRepositoryPath } from '@muster/actions/client'
import type { AgentConfig } from './config.ts'
import { withDeadline } from './deadline.ts'
import type { DeviceEventText } from './event-queue.ts'
import { invokeExactly } from './exact-invoke.ts'
import type { HubCredentials } from './hub-connection.ts'
import { loadCredentials } from './identity.ts'
import { type JsonText, jsonArray, jsonObject, jsonTextOf } from './json-text.ts'
import { ANSWER_TIMEOUT_MS, openSession, type Session } from './session.ts'

/** The work of a command that connects, runs actions and exits. Resolves to the line to print. */
export type OneShot = (session: Session) => Promise<string>

/**
 * Runs one command on a connection of its own, which does not make the device "connected" at the hub (docs/protocol.md 1.5, 3.8).
 * `timeoutMs` bounds the opening of the connection, with the hub's identification of the device.
 */
export async function runOneShot(
  config: AgentConfig,
  command: OneShot,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<string> {
  const credentials = await loadCredentials(config, signal)
  const session = await openOneShot(credentials, signal, timeoutMs)
  const close = () => session.link.close('interrupted')
  signal.addEventListener('abort', close, { once: true })
  try {
    return await command(session)
  } finally {
    signal.removeEventListener('abort', close)
    session.link.close()
  }
}

async function openOneShot(
  credentials: HubCredentials,
  signal: AbortSignal,
  timeoutMs: number | undefined,
): Promise<Session> {
  if (timeoutMs === undefined) return openSession(credentials, { isRegistered: false, signal })
  const late = AbortSignal.timeout(timeoutMs)
  try {
    return await openSession(credentials, { isRegistered: false, signal: AbortSignal.any([signal, late]) })
  } catch (error) {
    throw late.aborted ? new Error(`found no connection to the hub within ${timeoutMs / 1000} s`) : error
  }
}

/** Returns the device's id at its hub. */
export const printDeviceId: OneShot = session => Promise.resolve(session.deviceId)

/** Reads one property of this device. */
export function getProperty(name: string): OneShot {
  return session => invoke(session, 'devices_GetProperty', { name: jsonTextOf(name) })
}

/** Sets one property of this device. The JSON text is sent unchanged. */
export function setProperty(name: string, value: JsonText): OneShot {
  return session => invoke(session, 'devices_SetProperty', { name: jsonTextOf(name), value })
}

/** Removes one property of this device. */
export function removeProperty(name: string): OneShot {
  return session => invoke(session, 'devices_RemoveProperty', { name: jsonTextOf(name) })
}

/** Issues a JWT with which this device identifies itself to other systems. */
export function issueToken(validForSecs?: number, claims?: JsonText): OneShot {
  return session =>
    invoke(session, 'devices_IssueDeviceToken', {
      ...(validForSecs !== undefined && { validForSecs: jsonTextOf(validForSecs) }),
      ...(claims !== undefined && { claims }),
    })
}

/** Uploads events. Their JSON texts are sent unchanged. */
export async function publishEvents(session: Session, events: readonly DeviceEventText[]): Promise<void> {
  await invoke(session, 'devices_PublishEvents', { events: jsonArray(events.map(event => event.json)) })
}

/** Looks up a repository by its name. */
export function resolveRepository(repository: string): OneShot {
  return session => ask(session, 'repositories_ResolveName', { repository: jsonTextOf(repository) })
}

/** Looks up a version by `repository/package/tag`. */
export function resolveVersion(path: string): OneShot {
  return session => ask(session, 'repositories_ResolveVersionByPath', inputOf(path, 'repository/package/tag'))
}

/** Returns the files, tags and metadata of a version, which is given by `repository/package/tag` or by its id. */
export function versionInfo(path: string): OneShot {
  return async session => {
    const versionId = isRepositoryId(path, 'pkg_v') ? path : await idOf(session, path, 'version')
    return ask(session, 'repositories_GetVersionDetails', { versionId: jsonTextOf(versionId) })
  }
}

/** Issues a short-lived download URL of a file, which is given by `repository/package/tag/file` or by the id of its stored bytes. */
export function issueUrl(path: string, filename?: string): OneShot {
  return async session => {
    const assetId = isRepositoryId(path, 'repo_a') ? path : await idOf(session, path, 'file')
    return ask(session, 'repositories_IssueAssetDownloadUrl', {
      assetId: jsonTextOf(assetId),
      ...(filename !== undefined && { filename: jsonTextOf(filename) }),
    })
  }
}

async function idOf(session: Session, path: string, what: 'version' | 'file'): Promise<string> {
  const [action, form, field] =
    what === 'file'
      ? (['repositories_ResolveVersionAssetByPath', 'repository/package/tag/file', 'assetId'] as const)
      : (['repositories_ResolveVersionByPath', 'repository/package/tag', 'versionId'] as const)
  const found = JSON.parse(await ask(session, action, inputOf(path, form))) as Record<string, unknown>
  if (typeof found[field] === 'string') return found[field]
  throw new Error(
    `there is no ${what} "${path}", or its repository is not linked to the project of this device`,
  )
}

/** Parses a path into the input of a look-up action. `form` is the expected form that the error message names. */
function inputOf(path: string, form: string): Record<string, JsonText> {
  const parts = parseRepositoryPath(path)
  if (!parts || (parts.filename !== undefined) !== form.endsWith('/file'))
    throw new Error(`found "${path}", expected ${form} or an id`)
  return Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, jsonTextOf(part)]))
}

/** Runs an action whose input contains this device's id. */
function invoke(session: Session, action: ActionName, input: Record<string, JsonText>): Promise<string> {
  return ask(session, action, { deviceId: jsonTextOf(session.deviceId), ...input })
}

async function ask({ link }: Session, action: ActionName, input: Record<string, JsonText>): Promise<string> {
  const channel = await link.open('executor')
  return withDeadline(invokeExactly(channel, action, jsonObject(input)), ANSWER_TIMEOUT_MS, action)
}

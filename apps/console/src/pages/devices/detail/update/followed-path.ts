import { parseRepositoryPath, type RepositoryPath } from '@muster/actions/client'
import { useActionState } from '../../../../api/queries.ts'
import { recordOf, textOf } from '../device-json.ts'

/** Property in which the operator sets the tag from which a device takes its updates (docs/protocol.md 4.3). */
const OTA_CONFIG = 'dev.nexigon.ota.config'

/**
 * Path of the tag from which the device takes its updates: the configured path, else the path in the update status. `undefined` while the
 * path loads, and if there is none.
 */
export function useFollowedPath(deviceId: string, status: unknown): string | undefined {
  const config = useActionState('devices_GetProperty', { deviceId, name: OTA_CONFIG }).data
  if (!config) return undefined
  const configured = config.result === 'Found' ? textOf(recordOf(config.value)?.path) : undefined
  return configured ?? textOf(recordOf(recordOf(status)?.config)?.path)
}

/** Repository and version that a path leads to. `undefined` without a path, while they load, and if they are absent or unreadable. */
export function useVersionAt(path: RepositoryPath | undefined) {
  const { repository = '', package: name = '', tag = '' } = path ?? {}
  const { data } = useActionState(
    'repositories_ResolveVersionByPath',
    { repository, package: name, tag },
    { enabled: path !== undefined },
  )
  return data?.result === 'Found' ? data : undefined
}

/** The parts of a path; `undefined` for texts that are no paths. */
export function pathOf(text: string | undefined): RepositoryPath | undefined {
  const path = text === undefined || text.length > LONGEST_PATH ? undefined : parseRepositoryPath(text)
  return path && { repository: path.repository, package: path.package, tag: path.tag }
}

/** Maximum length, in characters, of a path. Longer texts are not treated as paths. */
const LONGEST_PATH = 1_000

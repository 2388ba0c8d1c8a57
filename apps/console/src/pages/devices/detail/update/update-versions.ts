import { type ActionOutput, parseRepositoryPath, type RepositoryPath } from '@muster/actions/client'
import { useActionState } from '../../../../api/queries.ts'
import { recordOf, textOf } from '../device-json.ts'
import { isAboutSpace } from '../problem/free-space.ts'
import { OTA_CONFIG, OTA_STATUS } from '../property-names.ts'
import { otaStatusOf } from '../well-known.ts'

type Version = Extract<
  ActionOutput<'repositories_ResolveVersionsByPath'>['versions'][number],
  { result: 'Found' }
>

type UpdateVersions = {
  /**
   * Path of the tag from which the device takes its updates: the configured path, else the path in the update status. `undefined` while the
   * path loads, and if there is none.
   */
  follows: string | undefined
  /** The version to which that tag leads. `undefined` while it loads, and if it is absent or unreadable. */
  followed: Version | undefined
  /** The version in the same package that has the tag of the current version. */
  current: Version | undefined
  /** The target version that the device reports. */
  targetVersion: string | undefined
  /** The version in the same package that has the tag of `targetVersion`. Has its files if the last error is about disk space. */
  target: Version | undefined
}

/** The versions that the update of a device is about, as they are stored in the package that it follows. */
export function useUpdateVersions(deviceId: string): UpdateVersions {
  const config = useActionState('devices_GetProperty', { deviceId, name: OTA_CONFIG }).data
  const status = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS }).data
  const reported = status?.result === 'Found' ? status.value : undefined
  const configured = config?.result === 'Found' ? textOf(recordOf(config.value)?.path) : undefined
  const follows = config && (configured ?? textOf(recordOf(recordOf(reported)?.config)?.path))
  const { currentVersion, targetVersion, lastError } = otaStatusOf(reported) ?? {}
  const path = pathOf(follows)
  const tags = path ? [...new Set([path.tag, currentVersion, targetVersion])].filter(isTag) : []
  const paths = tags.map(tag => ({
    ...path!,
    tag,
    ...(tag === targetVersion && isAboutSpace(lastError) && { withFiles: true }),
  }))
  const { data } = useActionState(
    'repositories_ResolveVersionsByPath',
    { paths },
    { enabled: tags.length > 0 },
  )
  const versionOf = (tag: string | undefined) => {
    const version = tag === undefined ? undefined : data?.versions[tags.indexOf(tag)]
    return version?.result === 'Found' ? version : undefined
  }
  return {
    follows,
    followed: versionOf(path?.tag),
    current: versionOf(currentVersion),
    targetVersion,
    target: versionOf(targetVersion),
  }
}

/** The repository, package and tag of a path; `undefined` for texts that are no paths. */
function pathOf(text: string | undefined): RepositoryPath | undefined {
  const path = text === undefined || text.length > LONGEST_PATH ? undefined : parseRepositoryPath(text)
  if (!path || ![path.repository, path.package, path.tag].every(isTag)) return undefined
  return { repository: path.repository, package: path.package, tag: path.tag }
}

/** Maximum length, in characters, of a path. Longer texts are not treated as paths. */
const LONGEST_PATH = 1_000
/** Maximum length, in characters, of a segment that the hub accepts. */
const LONGEST_SEGMENT = 128

/** Whether the hub accepts a text of a device as a segment of a path. */
function isTag(text: string | undefined): text is string {
  if (text === undefined || text === '' || text.length > LONGEST_SEGMENT) return false
  return text.isWellFormed() && !text.includes('\0')
}

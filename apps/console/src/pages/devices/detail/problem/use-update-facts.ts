import { useActionState } from '../../../../api/queries.ts'
import { recordOf } from '../device-json.ts'
import { SYSTEM_INFO_NAMES } from '../property-names.ts'
import { useUpdateVersions } from '../update/update-versions.ts'
import { type Disk, foundProperties, readSystemInfo } from '../well-known.ts'

/** The disks that a device reports; none while they load. */
export function useDisks(deviceId: string): readonly Disk[] {
  const current = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[0]! }).data
  const former = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[1]! }).data
  const info = readSystemInfo(foundProperties([current, former].flatMap(answer => answer ?? [])))
  return info && info !== 'unreadable' ? info.disks : []
}

/** Size in bytes of the bundle that a device could not install for lack of space. `undefined` while it loads, and without a single file. */
export function useBundleBytes(deviceId: string): number | undefined {
  const { files } = useUpdateVersions(deviceId).target ?? {}
  return files && bundleOf(files)?.size
}

type Files = NonNullable<NonNullable<ReturnType<typeof useUpdateVersions>['target']>['files']>

/** The bundle among the files of a version: the only file, or the only file that update scripts install (docs/protocol.md 9). */
function bundleOf(files: Files): Files[number] | undefined {
  const stored = files.filter(({ status }) => status === 'Available')
  const bundles = stored.filter(({ metadata }) => recordOf(metadata.rugix)?.bundleHash !== undefined)
  const found = bundles.length > 0 ? bundles : stored
  return found.length === 1 ? found[0] : undefined
}

import type { ActionOutput } from '@muster/actions/client'
import { useActionState } from '../../../../api/queries.ts'
import { recordOf } from '../device-json.ts'
import { OTA_STATUS, SYSTEM_INFO_NAMES } from '../property-names.ts'
import { pathOf, useFollowedPath, useVersionAt } from '../update/followed-path.ts'
import { type Disk, foundProperties, readSystemInfo } from '../well-known.ts'

/** The disks that a device reports; none while they load. */
export function useDisks(deviceId: string): readonly Disk[] {
  const current = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[0]! }).data
  const former = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[1]! }).data
  const info = readSystemInfo(foundProperties([current, former].flatMap(answer => answer ?? [])))
  return info && info !== 'unreadable' ? info.disks : []
}

/** The version with the tag `targetVersion` in the package that the device follows. `undefined` while it loads, and if it is not found. */
export function useUpdateVersion(deviceId: string, targetVersion: string | undefined) {
  const status = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS }).data
  const follows = useFollowedPath(deviceId, status?.result === 'Found' ? status.value : undefined)
  const path = pathOf(follows)
  return useVersionAt(path && targetVersion !== undefined ? { ...path, tag: targetVersion } : undefined)
}

type Assets = ActionOutput<'repositories_GetVersionDetails'>['assets']

/** Size in bytes of the bundle that a device tries to install. `undefined` while it loads, and if `bundleOf` finds no single file. */
export function useBundleBytes(deviceId: string, targetVersion: string | undefined): number | undefined {
  const version = useUpdateVersion(deviceId, targetVersion)
  const { data } = useActionState(
    'repositories_GetVersionDetails',
    { versionId: version?.versionId ?? '' },
    { enabled: version !== undefined },
  )
  return data && bundleOf(data.assets)?.size
}

/** The bundle among the files of a version: the only file, or the only file that update scripts install (docs/protocol.md 9). */
function bundleOf(assets: Assets): Assets[number] | undefined {
  const stored = assets.filter(({ status }) => status === 'Available')
  const bundles = stored.filter(({ metadata }) => recordOf(metadata.rugix)?.bundleHash !== undefined)
  const found = bundles.length > 0 ? bundles : stored
  return found.length === 1 ? found[0] : undefined
}

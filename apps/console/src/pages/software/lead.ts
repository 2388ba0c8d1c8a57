import type { ActionOutput } from '@muster/actions/client'
import { counted, formatCount, formatPercent } from '../../lib/app/format.ts'
import { reporting } from './shared/reporting.ts'

type Software = ActionOutput<'projects_GetSoftware'>

/**
 * First sentences of the page: a share with the set that it divides by, and what the other devices of this set do. `failed` is the number of
 * devices whose update failed.
 */
export type Lead = { first: string; rest: string; failed: number }

/**
 * Sentences about the package with most devices: which share of the devices that report it runs its version with the tag `stable`, or
 * else its latest version. Undefined if no device reports a package.
 */
export function leadOf({ packages, reported, otherReported, failed: allFailed }: Software): Lead | undefined {
  const main = packages.find(one => one.deviceCount > 0)
  if (!main) return undefined
  const aim = main.stable ?? main.latest
  const all = [
    ...packages.flatMap(one => [one.versions, one.reported, one.otherVersions ?? []]),
    reported,
    otherReported ?? [],
  ].flat()
  const failed = allFailed ?? all.reduce((sum, version) => sum + version.failed, 0)
  const updating = all.reduce((sum, version) => sum + version.updating, 0)
  const onAim = main.versions.find(({ versionId }) => versionId === aim?.versionId)
  const running = onAim ? onAim.running + onAim.updating + onAim.failed : 0
  const others = main.versions.length + main.reported.length - (onAim ? 1 : 0)
  const elsewhere = main.deviceCount - running
  const aimWords = main.stable ? 'what stable points to' : 'the latest version'
  return {
    first: `${formatPercent(running / main.deviceCount)} of ${reporting(main.deviceCount, main.name)} run ${aimWords}.`,
    rest: [
      ...(elsewhere > 0 && others > 0
        ? [
            `${counted(elsewhere, 'device')} ${elsewhere === 1 ? 'is' : 'are'} on ${main.otherVersions ? 'more than ' : ''}${counted(others, 'other version')}.`,
          ]
        : []),
      ...(updating > 0 ? [`${formatCount(updating)} ${updating === 1 ? 'is' : 'are'} updating.`] : []),
    ].join(' '),
    failed,
  }
}

import { useActionState } from '../../../../api/queries.ts'
import { versionLabel } from '../../../software/shared/version-label.ts'
import type { SoftwareCondition } from '../../shared/software-condition.ts'
import { Chip } from './Chip.tsx'

type SoftwareChipProps = { condition: SoftwareCondition; onRemove: () => void }

/** Part of the filter: the software that the devices report. */
export function SoftwareChip({ condition, onRemove }: SoftwareChipProps) {
  const words = useWords(condition)
  return (
    <Chip label="Software" words={words} onRemove={onRemove}>
      <bdi>{words}</bdi>
    </Chip>
  )
}

const RELATIONS = {
  runs: 'Runs',
  stays: 'Only runs',
  leaves: 'Installs another version than',
  stuck: 'Failed to install another version than',
  installs: 'Installs',
  fails: 'Failed to install',
  others: 'Another version than',
  unknown: 'Unknown version, possibly',
} as const

const DOES = {
  stays: '',
  leaves: ', installs another version',
  stuck: ', failed to install another version',
} as const

function useWords(condition: SoftwareCondition): string {
  const versionId = 'versionId' in condition ? condition.versionId : undefined
  const version = useActionState(
    'repositories_GetVersionDetails',
    { versionId: versionId ?? '' },
    { enabled: versionId !== undefined },
  ).data
  const packageId = 'packageId' in condition ? (condition.packageId ?? undefined) : version?.packageId
  const name = useActionState(
    'repositories_GetPackageDetails',
    { packageId: packageId ?? '' },
    { enabled: packageId !== undefined },
  ).data?.name
  const ofPackage = name ? `${name} ` : ''
  if ('versionId' in condition)
    return `${RELATIONS[condition.is]} ${ofPackage}${version ? versionLabel(version) : condition.versionId}`
  if ('followsTag' in condition) return `Follows the tag ${condition.followsTag} of ${name ?? 'a package'}`
  const does = condition.is ? DOES[condition.is] : ''
  if ('reports' in condition) return `Reports ${ofPackage}${condition.reports}${does}`
  return condition.versions === 'any'
    ? `Reports a version of ${name ?? (packageId === undefined ? 'no package' : 'a package')}${does}`
    : `Reports a version that is not listed${name ? ` of ${name}` : ''}${does}`
}

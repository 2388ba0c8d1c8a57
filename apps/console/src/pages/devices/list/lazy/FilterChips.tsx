import { useActionState } from '../../../../api/queries.ts'
import type { DeviceSearch } from '../../shared/device-search.ts'
import { parseSoftware } from '../../shared/software-condition.ts'
import { Chip } from './Chip.tsx'
import { SoftwareChip } from './SoftwareChip.tsx'

type FilterChipsProps = {
  projectId: string
  search: DeviceSearch
  onChange: (next: { [Name in keyof DeviceSearch]?: undefined }) => void
}

/** Parts of the filter that a link from another page has set. Each can be removed. */
export function FilterChips({ projectId, search, onChange }: FilterChipsProps) {
  const { error, target, address, token: tokenId } = search
  const software = parseSoftware(search.software)
  return (
    <>
      {software && <SoftwareChip condition={software} onRemove={() => onChange({ software: undefined })} />}
      {(error || target) && (
        <FailureChip
          error={error}
          target={target}
          onRemove={() => onChange({ error: undefined, target: undefined })}
        />
      )}
      {address && (
        <Chip
          label="Address"
          words={`address begins with ${address}`}
          onRemove={() => onChange({ address: undefined })}
        >
          Address begins with <bdi className="mono">{address}</bdi>
        </Chip>
      )}
      {tokenId && (
        <TokenChip projectId={projectId} tokenId={tokenId} onRemove={() => onChange({ token: undefined })} />
      )}
    </>
  )
}

type FailureChipProps = { error: string | undefined; target: string | undefined; onRemove: () => void }

/** Part of the filter: devices whose update failed with the same error, also for the same version if there is a `target`. */
function FailureChip({ error, target, onRemove }: FailureChipProps) {
  const what = `${failedUpdate(target)} ${error ? 'with' : 'without a reason'}`
  return (
    <Chip label="Error of the update" words={error ? `${what} ${error}` : what} onRemove={onRemove}>
      {what} {error && <bdi className="mono">{error}</bdi>}
    </Chip>
  )
}

function failedUpdate(target: string | undefined): string {
  if (target === '=') return 'Update to an unnamed version failed'
  return target ? `Update to ${target.slice(1)} failed` : 'Update failed'
}

type TokenChipProps = { projectId: string; tokenId: string; onRemove: () => void }

/** Part of the filter: devices that enrolled with the same deployment token. */
function TokenChip({ projectId, tokenId, onRemove }: TokenChipProps) {
  const input = { projectId, limit: 1, filter: { text: tokenId } }
  const { data } = useActionState('projects_QueryDeploymentTokens', input)
  const [token] = data?.tokens ?? []
  const name = data && (token ? (token.name ?? 'unnamed') : 'a deleted token')
  return (
    <Chip label="Deployment token" words={`enrolled with ${name ?? 'a token'}`} onRemove={onRemove}>
      Enrolled with <bdi>{name ?? '…'}</bdi>
    </Chip>
  )
}

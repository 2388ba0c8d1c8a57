import { useActionState } from '../../../../api/queries.ts'
import type { SoftwareCondition } from '../software-condition.ts'
import { Chip } from './Chip.tsx'
import { SoftwareChip } from './SoftwareChip.tsx'

type FilterChipsProps = {
  projectId: string
  software: SoftwareCondition | undefined
  error: string | undefined
  tokenId: string | undefined
  address: string | undefined
  onChange: (next: {
    software?: undefined
    error?: undefined
    token?: undefined
    address?: undefined
  }) => void
}

/** Parts of the filter that a link from another page has set. Each can be removed. */
export function FilterChips({ projectId, software, error, tokenId, address, onChange }: FilterChipsProps) {
  return (
    <>
      {software && <SoftwareChip condition={software} onRemove={() => onChange({ software: undefined })} />}
      {error && <ErrorChip error={error} onRemove={() => onChange({ error: undefined })} />}
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

/** Part of the filter: devices whose update failed with the same error. */
function ErrorChip({ error, onRemove }: { error: string; onRemove: () => void }) {
  return (
    <Chip label="Error of the update" words={`update failed with ${error}`} onRemove={onRemove}>
      Update failed with <bdi className="mono">{error}</bdi>
    </Chip>
  )
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

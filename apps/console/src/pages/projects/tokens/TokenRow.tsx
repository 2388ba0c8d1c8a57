import { Gauge, Trash2 } from 'lucide-react'
import { useCommand } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { confirmed } from '../../../lib/app/confirm.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { Switch } from '../../../ui/app/Switch.tsx'
import { Cell, Row } from '../../../ui/app/Table.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { EnrolledCell } from './EnrolledCell.tsx'
import { ExpiryCell } from './ExpiryCell.tsx'
import { LastUseCell } from './LastUseCell.tsx'
import type { Token } from './token.ts'
import type { TokenCounts } from './use-token-counts.ts'

type TokenRowProps = {
  token: Token
  counts: TokenCounts
  /** Opens the dialog of the token's limits. */
  onLimit: () => void
}

/** A row with a deployment token. */
export function TokenRow({ token, counts, onLimit }: TokenRowProps) {
  const { tokenId, createdAt, flags, lastRefusal, limits } = token
  const name = token.name ?? 'unnamed'
  const isExpired = useNow() >= Date.parse(limits.expiresAt ?? '')
  const invalidates = ['projects_QueryDeploymentTokens'] as const
  const setFlags = useCommand('projects_SetDeploymentTokenFlags', { invalidates })
  const remove = useCommand('projects_DeleteDeploymentToken', { invalidates })
  // The switch shows the requested value while it is being saved, and the stored value again after a failure.
  const autoAccept = setFlags.isPending
    ? (setFlags.variables.flags.autoAccept ?? flags.autoAccept)
    : flags.autoAccept

  async function deleteToken() {
    try {
      await confirmed('Are you sure you want to delete this token?')
      await remove.mutateAsync({ tokenId })
      toast(`Token ${name} deleted.`)
      focusHeading()
    } catch (error) {
      toastError('Could not delete the token', error)
    }
  }

  return (
    <Row>
      <Cell>
        <div className="stack tight">
          {token.name ? <b className="lines">{name}</b> : <span className="un">unnamed</span>}
          {lastRefusal && <LastRefusal {...lastRefusal} />}
        </div>
      </Cell>
      <Cell label="Id">
        <Id id={tokenId} what="token id" cutMiddle />
      </Cell>
      <Cell label="Created At">
        <Time at={createdAt} />
      </Cell>
      <Cell label="Auto-accept">
        <Switch
          label={`Auto-accept devices of ${name}`}
          checked={autoAccept}
          busy={setFlags.isPending}
          onChange={checked =>
            setFlags.mutate(
              { tokenId, flags: { autoAccept: checked } },
              { onError: error => toastError('Could not change auto-accept', error) },
            )
          }
        />
      </Cell>
      <Cell label="Last used">
        <LastUseCell lastUse={token.lastUse} />
      </Cell>
      <Cell label="Devices enrolled">
        <EnrolledCell token={token} counts={counts} isExpired={isExpired} />
      </Cell>
      <Cell label="Expires">
        <ExpiryCell expiresAt={limits.expiresAt} />
      </Cell>
      <Cell end>
        <IconButton label={`Change limits of ${name}`} icon={Gauge} size="sm" onClick={onLimit} />
        <IconButton
          label={`Delete token ${name}`}
          icon={Trash2}
          size="sm"
          busy={remove.isPending}
          onClick={() => void deleteToken()}
        />
      </Cell>
    </Row>
  )
}

function LastRefusal({ at, reason, count }: NonNullable<Token['lastRefusal']>) {
  return (
    <span className="hint">
      Last refused <Time at={at} />: {reason}
      {count > 1 && ` (${formatCount(count)} times)`}
    </span>
  )
}

import type { ActionOutput } from '@muster/actions/client'
import { Gauge, Trash2 } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { confirmed } from '../../lib/app/confirm.ts'
import { formatCount } from '../../lib/app/format.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Switch } from '../../ui/app/Switch.tsx'
import { Cell, Row } from '../../ui/app/Table.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'

/** A deployment token in the list. */
export type Token = ActionOutput<'projects_QueryDeploymentTokens'>['tokens'][number]

/** A row with a deployment token. `onLimit` opens the dialog of its limits. */
export function TokenRow({ token, onLimit }: { token: Token; onLimit: () => void }) {
  const { tokenId, createdAt, flags, lastRefusal } = token
  const name = token.name ?? 'unnamed'
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
          {token.name ? <span className="lines">{name}</span> : <span className="un">unnamed</span>}
          {lastRefusal && <LastRefusal {...lastRefusal} />}
        </div>
      </Cell>
      <Cell label="Id">
        <Id id={tokenId} what="token id" />
      </Cell>
      <Cell label="Created At">
        <Time at={createdAt} />
      </Cell>
      <Cell label="New Devices">
        <NewDevices token={token} />
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

/** Number of devices that enrolled with a token, its limits, and the number of refused devices. */
function NewDevices({ token }: { token: Token }) {
  const { limits, budget, enrolledDevices, refusedDevices } = token
  const { expiresAt, deviceLimit } = limits
  const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()
  return (
    <div className="stack tight">
      <span>
        {formatCount(enrolledDevices)}
        {deviceLimit !== undefined && ` of ${formatCount(deviceLimit)}`} enrolled
      </span>
      {!isExpired && (
        <span className="t2">
          Budget {formatCount(budget.left)}
          {budget.left < budget.atOnce && ` of ${formatCount(budget.atOnce)}`}, +{formatCount(budget.perHour)}
          /h
        </span>
      )}
      {expiresAt !== undefined && (
        <span className="t2">
          {isExpired ? 'Expired' : 'Expires'} <Time at={expiresAt} />
        </span>
      )}
      {refusedDevices > 0 && <span className="hint">{formatCount(refusedDevices)} refused</span>}
    </div>
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

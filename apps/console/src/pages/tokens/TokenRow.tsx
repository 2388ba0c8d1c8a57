import type { ActionOutput } from '@muster/actions/client'
import { Trash2 } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { confirmed } from '../../lib/confirm.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { formatCount } from '../../lib/format.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { Id } from '../../ui/Id.tsx'
import { Switch } from '../../ui/Switch.tsx'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { toast, toastError } from '../../ui/toast.ts'

type Token = ActionOutput<'projects_QueryDeploymentTokens'>['tokens'][number]

/** One deployment token: what it is, whether it accepts at once, and delete. */
export function TokenRow({ token }: { token: Token }) {
  const { tokenId, createdAt, flags, lastRefusal } = token
  const name = token.name ?? 'unnamed'
  const invalidates = ['projects_QueryDeploymentTokens'] as const
  const setFlags = useCommand('projects_SetDeploymentTokenFlags', { invalidates })
  const remove = useCommand('projects_DeleteDeploymentToken', { invalidates })
  // While it is being saved the switch shows what was asked for; a refusal lets it fall back.
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

import { Link } from '@tanstack/react-router'
import { Ban, Clock, Gauge, Tag } from 'lucide-react'
import { useCommand } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { dateAndMinute } from '../../../lib/app/local-time.ts'
import { relativeTime } from '../../../lib/app/relative-time.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { DeleteTokenButton } from '../../../ui/app/DeleteTokenButton.tsx'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { Switch } from '../../../ui/app/Switch.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { toastError } from '../../../ui/app/toast.ts'
import { Unnamed } from '../../../ui/app/Unnamed.tsx'
import shared from '../../../ui/lazy/second-line.module.css'
import { ACTIONS, Cell, type Column, Row } from '../../../ui/lazy/Table.tsx'
import { DeviceName } from '../../devices/shared/DeviceName.tsx'
import { LabelList } from '../../labels/shared/LabelList.tsx'
import { EnrolledCell } from './EnrolledCell.tsx'
import type { Token } from './token.ts'
import type { TokenCounts } from './use-token-counts.ts'

/** Columns of the deployment tokens. The name takes the remaining width. */
export const TOKEN_COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title' },
  { name: 'Id', widthPx: 148 },
  { name: 'Created At', widthPx: 116 },
  { name: 'Auto-accept', widthPx: 100 },
  { name: 'Last used', widthPx: 172 },
  { name: 'Devices enrolled', widthPx: 144 },
  { name: 'Expires', widthPx: 150 },
  { ...ACTIONS, widthPx: 116 },
]

type TokenRowProps = {
  token: Token
  counts: TokenCounts
  /** Opens the dialog of the token's limits. */
  onLimit: () => void
  /** Opens the dialog of the labels that the token gives to devices. */
  onLabel: () => void
}

/** A row with a deployment token. */
export function TokenRow({ token, counts, onLimit, onLabel }: TokenRowProps) {
  const { tokenId, createdAt, flags, lastRefusal, limits, labels } = token
  const name = token.name ?? 'unnamed'
  const isExpired = useNow() >= Date.parse(limits.expiresAt ?? '')
  const invalidates = ['projects_QueryDeploymentTokens'] as const
  const setFlags = useCommand('projects_SetDeploymentTokenFlags', { invalidates })
  const remove = useCommand('projects_DeleteDeploymentToken', { invalidates })
  // The switch shows the requested value while it is being saved, and the stored value again after a failure.
  const autoAccept = setFlags.isPending
    ? (setFlags.variables.flags.autoAccept ?? flags.autoAccept)
    : flags.autoAccept

  return (
    <Row>
      <Cell>
        <div className="stack tight">
          {token.name ? <b className="lines">{name}</b> : <Unnamed />}
          {labels && <LabelList labels={labels} />}
          {lastRefusal && <LastRefusal {...lastRefusal} />}
        </div>
      </Cell>
      <Cell>
        <Id id={tokenId} what="token id" cutMiddle />
      </Cell>
      <Cell>
        <Time at={createdAt} />
      </Cell>
      <Cell>
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
      <Cell>
        <LastUseCell lastUse={token.lastUse} />
      </Cell>
      <Cell>
        <EnrolledCell token={token} counts={counts} isExpired={isExpired} />
      </Cell>
      <Cell>
        <ExpiryCell expiresAt={limits.expiresAt} />
      </Cell>
      <Cell>
        <IconButton label={`Change labels of ${name}`} icon={Tag} size="sm" onClick={onLabel} />
        <IconButton label={`Change limits of ${name}`} icon={Gauge} size="sm" onClick={onLimit} />
        <DeleteTokenButton
          name={name}
          isDeleting={remove.isPending}
          onDelete={() => remove.mutateAsync({ tokenId })}
        />
      </Cell>
    </Row>
  )
}

function LastRefusal({ at, reason, count }: NonNullable<Token['lastRefusal']>) {
  return (
    <span className={shared.warning}>
      Last refused <Time at={at} />: <bdi>{reason}</bdi>
      {count > 1 && ` (${formatCount(count)} times)`}
    </span>
  )
}

/** Time before the expiry from which the row warns, in milliseconds: 7 days. */
const SOON_MS = 7 * 86_400_000

/** Time at which a token stops admitting new devices: a warning during the last 7 days, "Expired" afterwards. */
function ExpiryCell({ expiresAt }: { expiresAt: string | undefined }) {
  const nowMs = useNow()
  if (expiresAt === undefined) return <span className="muted">Never</span>
  const atMs = Date.parse(expiresAt)
  const isOver = atMs <= nowMs
  const words = relativeTime(atMs, nowMs)
  return (
    <div className="pair">
      {isOver ? (
        <Badge icon={Ban}>Expired</Badge>
      ) : atMs - nowMs < SOON_MS ? (
        <Badge tone="warn" icon={Clock}>
          {capitalized(words)}
        </Badge>
      ) : (
        <span>{capitalized(words)}</span>
      )}
      <time className={shared.secondLine} dateTime={expiresAt}>
        {dateAndMinute(atMs)}
      </time>
    </div>
  )
}

const capitalized = (words: string) => words.charAt(0).toUpperCase() + words.slice(1)

/** Time of the last connection with a token, its device and address. */
function LastUseCell({ lastUse }: Pick<Token, 'lastUse'>) {
  if (!lastUse) return <span className="muted">Never</span>
  const { at, deviceId, deviceName, hostname, address } = lastUse
  return (
    <div className="pair">
      <Time at={at} />
      <span className={shared.secondLine}>
        {deviceId ? (
          <Link
            from="/org_{$organization}/projects/$projectId/tokens"
            to="../devices/$deviceId"
            params={{ deviceId }}
          >
            <DeviceName name={deviceName} hostname={hostname} />
          </Link>
        ) : (
          'a deleted device'
        )}
        , from {address}
      </span>
    </div>
  )
}

import { Link } from '@tanstack/react-router'
import { counted, formatCount } from '../../../lib/app/format.ts'
import shared from '../../../ui/lazy/second-line.module.css'
import type { Token } from './token.ts'
import type { TokenCounts } from './use-token-counts.ts'

type EnrolledCellProps = { token: Token; counts: TokenCounts; isExpired: boolean }

/** Cell with the number of devices that enrolled with a token, as a link to them, the number that waits for approval, and the limits. */
export function EnrolledCell({ token, counts, isExpired }: EnrolledCellProps) {
  const { tokenId, limits, budget, enrolledDevices, refusedDevices, flags } = token
  const { devices, pending } = counts
  const hasOwnBudget = limits.newDevicesAtOnce !== undefined || limits.newDevicesPerHour !== undefined
  const isBudgetShown = !isExpired && (hasOwnBudget || budget.left < budget.atOnce / 2)
  return (
    <div className="pair">
      {devices === undefined && <span className="muted">Counting…</span>}
      {devices === null && <span className="muted">– not counted</span>}
      {devices === 0 && <span>0 devices</span>}
      {devices !== undefined && devices !== null && devices > 0 && (
        <Link
          from="/org_{$organization}/projects/$projectId/tokens"
          to="../devices"
          search={{ token: tokenId }}
          className="tabular"
        >
          {counted(devices, 'device')}
        </Link>
      )}
      {devices !== undefined && devices !== null && devices > 0 && (
        <span className={shared.secondLine}>{fateOf(pending ?? 0, flags.autoAccept, isExpired)}</span>
      )}
      {limits.deviceLimit !== undefined && (
        <span className={shared.secondLine}>
          {formatCount(enrolledDevices)} of {formatCount(limits.deviceLimit)} enrolled
        </span>
      )}
      {isBudgetShown && (
        <span className={shared.secondLine}>
          Budget {formatCount(budget.left)}
          {budget.left < budget.atOnce && ` of ${formatCount(budget.atOnce)}`}, +{formatCount(budget.perHour)}
          /h
        </span>
      )}
      {refusedDevices > 0 && <span className={shared.warning}>{formatCount(refusedDevices)} refused</span>}
    </div>
  )
}

function fateOf(pending: number, autoAccept: boolean, isExpired: boolean): string {
  if (pending > 0) return `${formatCount(pending)} ${pending === 1 ? 'waits' : 'wait'} for approval`
  if (isExpired) return 'stay connected'
  return autoAccept ? 'all accepted at once' : 'none waits for approval'
}

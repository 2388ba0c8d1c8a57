import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { actionQuery, invalidateActions } from '../../../api/queries.ts'
import { Mark } from '../../../ui/app/Mark.tsx'
import { DeviceName } from '../../devices/shared/DeviceName.tsx'
import styles from './WaitingForToken.module.css'

/** Polling interval while the person waits, in milliseconds. The hub stores the first use of a token after 1 s. */
const WAITING_INTERVAL_MS = 2_000

/** A line that waits for the first device with a new token, says why the hub refused one, and then links to the device. */
export function WaitingForToken({ projectId, tokenId }: { projectId: string; tokenId: string }) {
  const queryClient = useQueryClient()
  const { data } = useQuery({
    ...actionQuery('projects_QueryDeploymentTokens', { projectId, limit: 1, filter: { text: tokenId } }),
    refetchInterval: WAITING_INTERVAL_MS,
  })
  const { lastUse, lastRefusal } = data?.tokens[0] ?? {}
  const isUsed = lastUse !== undefined
  useEffect(() => {
    if (isUsed) void invalidateActions(queryClient, ['projects_QueryDeploymentTokens'])
  }, [isUsed, queryClient])
  const isRefused = lastRefusal && (!lastUse || lastRefusal.at > lastUse.at)
  return (
    <div className={`row ${styles.waiting}`} role="status">
      {isRefused && (
        <>
          <Mark state="warning" />
          <span>A device was refused: {lastRefusal.reason}.</span>
        </>
      )}
      {!isRefused && lastUse?.deviceId && (
        <>
          <Mark state="on" />
          <span>
            <DeviceName name={lastUse.deviceName} hostname={lastUse.hostname} /> is connected.
          </span>
          <Link
            from="/org_{$organization}/projects/$projectId/tokens"
            to="../devices/$deviceId"
            params={{ deviceId: lastUse.deviceId }}
          >
            Open
          </Link>
        </>
      )}
      {!isRefused && !lastUse?.deviceId && (
        <span className="live">
          <i aria-hidden="true" />
          Waiting for the first device with this token
        </span>
      )}
    </div>
  )
}

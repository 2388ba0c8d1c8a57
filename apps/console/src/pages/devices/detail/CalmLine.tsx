import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { actionQuery } from '../../../api/queries.ts'
import { Mark } from '../../../ui/app/Mark.tsx'
import { Moment } from '../../../ui/lazy/Moment.tsx'
import styles from './CalmLine.module.css'
import { connectionsQuery, pastValuesInput } from './device-queries.ts'
import { lastProblem } from './last-problem.ts'
import { HEALTH, OTA_STATUS } from './property-names.ts'
import { hourAround } from './timeline/time-range.ts'

/** One line that says that a device has no problem, and which problem ended last. */
export function CalmLine({ deviceId, isConnected }: { deviceId: string; isConnected: boolean }) {
  const [updates, health] = useQueries({
    queries: [OTA_STATUS, HEALTH].map(name =>
      actionQuery('devices_QueryPropertyHistory', pastValuesInput(deviceId, name)),
    ),
  }).map(({ data }) => data?.changes)
  const connections = useQuery(connectionsQuery(deviceId)).data?.connections
  if (!updates || !health || !connections) return null
  const past = lastProblem(updates, health, connections)
  return (
    <p className={`touch-area ${styles.line}`}>
      <Mark state={isConnected ? 'on' : 'off'} />
      <span>
        Nothing is wrong.{' '}
        {past && (
          <>
            The last problem ended <Moment at={past.endedAt} />: <bdi>{past.words}</bdi>.{' '}
            <Link
              className="inline"
              from="/org_{$organization}/projects/$projectId/devices/$deviceId"
              to="./timeline"
              search={hourAround(Date.parse(past.beganAt), Date.parse(past.endedAt))}
            >
              See it
            </Link>
          </>
        )}
      </span>
    </p>
  )
}

import type { ActionOutput } from '@muster/actions/client'
import { Gauge } from 'lucide-react'
import { formatCount } from '../../../lib/app/format.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Time } from '../../../ui/app/Time.tsx'

type Details = ActionOutput<'devices_GetDetails'>

/** Notice of limits of the hub that a device has reached, such as a rate limit, each with the number of times and the last time. */
export function LimitsNotice({ limitHits }: Pick<Details, 'limitHits'>) {
  if (limitHits.length === 0) return null
  return (
    <Alert
      tone="warn"
      icon={Gauge}
      title={
        limitHits.length === 1 ? 'This device hit a limit.' : `This device hit ${limitHits.length} limits.`
      }
    >
      {limitHits.map(({ limit, message, count, lastAt }) => (
        <p key={limit} style={{ overflowWrap: 'anywhere' }}>
          {message}{' '}
          <span className="secondary">
            <Time at={lastAt} />
            {count > 1 && `, ${formatCount(count)} times in all`}
          </span>
        </p>
      ))}
    </Alert>
  )
}

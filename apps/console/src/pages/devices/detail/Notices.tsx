import type { ActionOutput } from '@muster/actions/client'
import { Gauge, ShieldAlert } from 'lucide-react'
import { formatCount } from '../../../lib/app/format.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Time } from '../../../ui/app/Time.tsx'

type Details = ActionOutput<'devices_GetDetails'>

/** Notice that certificates wait for approval, with a link to them. */
export function PendingNotice({ certificates }: Pick<Details, 'certificates'>) {
  const pending = certificates.filter(({ status }) => status === 'Pending')
  const [first] = pending.toSorted((a, b) => Date.parse(a.firstSeen) - Date.parse(b.firstSeen))
  if (!first) return null
  return (
    <Alert tone="warn" icon={ShieldAlert} action={<a href="#certs">Review</a>}>
      <strong>
        {pending.length === 1
          ? '1 certificate is waiting for approval.'
          : `${pending.length} certificates are waiting for approval.`}
      </strong>{' '}
      <span className="t2">
        First seen <Time at={first.firstSeen} />.
      </span>
    </Alert>
  )
}

/** Notice of the limits that a device has hit, with the number of hits and the time of the last hit for each limit. */
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
          <span className="t2">
            <Time at={lastAt} />
            {count > 1 && `, ${formatCount(count)} times in all`}
          </span>
        </p>
      ))}
    </Alert>
  )
}

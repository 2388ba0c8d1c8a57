import type { ActionOutput } from '@muster/actions/client'
import { ShieldAlert, ShieldX } from 'lucide-react'
import { formatCount } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Time } from '../../ui/Time.tsx'

type Details = ActionOutput<'devices_GetDetails'>

/** Says that a certificate waits for a person, with the way to it. */
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

/** Says why a device that is not connected was turned away when it last tried. */
export function RefusalNotice({ isConnected, lastRefusal }: Pick<Details, 'isConnected' | 'lastRefusal'>) {
  if (isConnected || !lastRefusal) return null
  const { at, reason, count } = lastRefusal
  return (
    <Alert tone="warn" icon={ShieldX} title="The last attempt to connect was refused.">
      <span style={{ overflowWrap: 'anywhere' }}>{reason}</span>{' '}
      <span className="t2">
        <Time at={at} />
        {count > 1 && `, ${formatCount(count)} times in all`}
      </span>
    </Alert>
  )
}

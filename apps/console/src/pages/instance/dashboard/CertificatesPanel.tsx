import { TriangleAlert } from 'lucide-react'
import { useNow } from '../../../lib/app/clock.ts'
import { counted } from '../../../lib/app/format.ts'
import { dayInYear } from '../../../lib/app/local-time.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import type { Health } from './health.ts'
import styles from './panels.module.css'
import { Unread } from './Unread.tsx'

const DAY_MS = 24 * 60 * 60 * 1000
/** Days before its expiry from which a certificate is marked. The hub lists it as a problem from the same day. */
const WARN_DAYS = 21

/** Certificates with which the nodes serve TLS. Nodes with the same certificate share a line. */
export function CertificatesPanel({ nodes: { value = [], failure } }: Pick<Health, 'nodes'>) {
  const nowMs = useNow()
  const reported = value.flatMap(({ facts }) => (facts ? [facts] : []))
  const certificates = new Map(
    reported.flatMap(facts =>
      (facts.certificates ?? []).map(certificate => [JSON.stringify(certificate), certificate] as const),
    ),
  )
  const failures = [...new Set(reported.flatMap(({ certificatesFailure }) => certificatesFailure ?? []))]
  return (
    <Section id="hub-certificates" title="Certificates of the hub" padded={false}>
      <ul className={styles.lines}>
        {[...certificates].map(([key, { names, endsAt }]) => {
          const endsMs = Date.parse(endsAt)
          const days = Math.floor((endsMs - nowMs) / DAY_MS)
          const left = endsMs <= nowMs ? 'ended' : counted(days, 'day')
          return (
            <li key={key}>
              <b className="truncated">{names.join(', ')}</b>
              {days <= WARN_DAYS ? (
                <Badge tone="warn" icon={TriangleAlert}>
                  {left}
                </Badge>
              ) : (
                <span className="muted tabular">{left}</span>
              )}
              <span className={`muted ${styles.detail}`}>
                {endsMs <= nowMs ? 'Ended' : 'Ends'} {dayInYear(endsMs, nowMs)}
              </span>
            </li>
          )
        })}
        {[...failures, ...(failure === undefined ? [] : [failure])].map(text => (
          <li key={text}>
            <Unread failure={text} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

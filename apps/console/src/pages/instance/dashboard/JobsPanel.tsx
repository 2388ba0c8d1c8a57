import { Link } from '@tanstack/react-router'
import { counted } from '../../../lib/app/format.ts'
import { Section } from '../../../ui/app/Section.tsx'
import type { Health } from './health.ts'
import styles from './panels.module.css'
import { Unread } from './Unread.tsx'

/** Number of failed jobs of the last 24 hours, with a link to the list of these jobs. */
export function JobsPanel({ jobs: { value, failure } }: Pick<Health, 'jobs'>) {
  return (
    <Section
      title="Jobs"
      padded={false}
      aside={
        <>
          <span className="grow" />
          <Link to="/admin/jobs" className={styles.way}>
            All jobs
          </Link>
        </>
      }
    >
      <ul className={styles.lines}>
        <li>
          {value ? (
            <>
              <b>
                {value.failedCount === 0 ? (
                  'No job failed'
                ) : (
                  <Link to="/admin/jobs">{counted(value.failedCount, 'job')} failed</Link>
                )}
              </b>
              <span className={`muted ${styles.detail}`}>In the last 24 hours</span>
            </>
          ) : (
            <Unread failure={failure} />
          )}
        </li>
      </ul>
    </Section>
  )
}

import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import { useNow } from '../../../lib/app/clock.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { LinkButton } from '../../../ui/LinkButton.tsx'
import { Elapsed } from '../../../ui/lazy/Elapsed.tsx'
import type { Problem } from './health.ts'
import styles from './NeedsAttention.module.css'
import { problemWords } from './problem-words.ts'

type NeedsAttentionProps = {
  problems: readonly Problem[]
  /** Time at which the problems arrived, in milliseconds since 1970. */
  answeredAt: number
}

/** Problems of the instance, the worst first, each with a button that opens the page for the problem. */
export function NeedsAttention({ problems, answeredAt }: NeedsAttentionProps) {
  const nowMs = useNow()
  return (
    <section className={`sheet ${styles.panel}`} aria-labelledby="needs-attention">
      <header>
        <h2 id="needs-attention">Needs attention</h2>
        {problems.length > 1 && <span className="help">{formatCount(problems.length)}, the worst first</span>}
      </header>
      <ul>
        {problems.length === 0 && (
          <li className={styles.problem} data-level="ok">
            <CircleCheck className="icon" aria-hidden />
            <span className={styles.text}>
              Nothing needs attention.{' '}
              <span className="muted">
                Checked <Elapsed secs={0} answeredAt={answeredAt} /> ago.
              </span>
            </span>
          </li>
        )}
        {problems.map(problem => {
          const { said, more, note } = problemWords(problem, nowMs)
          const Icon = problem.level === 'bad' ? CircleAlert : TriangleAlert
          return (
            <li key={`${problem.kind} ${said}`} className={styles.problem} data-level={problem.level}>
              <Icon className="icon" aria-hidden />
              <span className={styles.text}>
                <b>{said}</b> {more !== undefined && <bdi>{more}</bdi>}
                {note !== undefined && <small>{note}</small>}
              </span>
              <Way problem={problem} />
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Button that opens the page with the details of a problem. */
function Way({ problem }: { problem: Problem }) {
  if (problem.kind === 'JobFailing')
    return (
      <LinkButton size="sm" to="/admin/jobs" search={{ type: problem.job, job: problem.jobId }}>
        Open the job
      </LinkButton>
    )
  if (problem.kind === 'SealBroken')
    return (
      <LinkButton size="sm" to="/admin/log">
        Open the log
      </LinkButton>
    )
  if (problem.kind === 'CertificateEnding')
    return (
      <LinkButton size="sm" to="/admin/dashboard" hash="hub-certificates">
        Show the certificate
      </LinkButton>
    )
  const name =
    problem.kind === 'VersionsDiffer' ? 'the nodes' : 'nodeName' in problem ? problem.nodeName : undefined
  if (name === undefined) return null
  return (
    <LinkButton size="sm" to="/admin/dashboard" hash="cluster-nodes">
      <span className="truncated">
        Show <bdi>{name}</bdi>
      </span>
    </LinkButton>
  )
}

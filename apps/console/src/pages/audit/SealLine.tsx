import { ShieldCheck, ShieldQuestionMark, ShieldX } from 'lucide-react'
import { formatCount } from '../../lib/app/format.ts'
import { clockTime, hourAndMinute, shortDay } from '../../lib/app/local-time.ts'
import styles from './LogTable.module.css'
import type { Sealing } from './shared/entry.ts'

type SealLineProps = {
  sealing: Sealing
  /** Entries above the line: none, not sealed yet, or sealed since the list was loaded. */
  above: 'none' | 'waiting' | 'sealed'
}

/** The line between entries that are not sealed (hashed and signed) yet and sealed entries, with the result of the last verification. */
export function SealLine({ sealing: { newest, verified }, above }: SealLineProps) {
  if (verified && !verified.isIntact) {
    return (
      <span className={`row ${styles.seal}`} data-seal="broken">
        <ShieldX className="icon small-icon" aria-hidden />
        <span>
          <b>The log is not intact.</b>{' '}
          {verified.problem ?? `Its rows do not match the seals after seal ${formatCount(verified.sealNo)}.`}{' '}
          Verified at {moment(verified.verifiedAt)}.
        </span>
      </span>
    )
  }
  if (!newest) return null
  const Icon = verified ? ShieldCheck : ShieldQuestionMark
  return (
    <span className={`row ${styles.seal}`} data-seal={verified ? 'intact' : 'unverified'}>
      <Icon className="icon small-icon" aria-hidden />
      <span>
        <b>
          {above === 'none'
            ? 'All of these entries are sealed.'
            : `Sealed up to ${sealedUpTo(newest.newestAt)}.`}
        </b>{' '}
        Seal {formatCount(newest.sealNo)},{' '}
        {verified
          ? `chain verified up to seal ${formatCount(verified.sealNo)} at ${moment(verified.verifiedAt)} and intact.`
          : 'chain not verified yet.'}
        {above === 'waiting' && ' The rows above wait for the next seal.'}
        {above === 'sealed' && ' The rows above have been sealed since.'}
      </span>
    </span>
  )
}

function sealedUpTo(at: string): string {
  const ms = Date.parse(at)
  return isToday(ms) ? clockTime(ms) : `${shortDay(ms)}, ${clockTime(ms)}`
}

function moment(at: string): string {
  const ms = Date.parse(at)
  return isToday(ms) ? hourAndMinute(ms) : `${hourAndMinute(ms)} on ${shortDay(ms)}`
}

function isToday(ms: number): boolean {
  return new Date(ms).toDateString() === new Date().toDateString()
}

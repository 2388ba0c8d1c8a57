import { useNow } from '../../lib/app/clock.ts'
import { shortAge } from '../../lib/app/relative-time.ts'

/** Age, in milliseconds, from which a count shows its age. */
const OLD_MS = 10_000

type CountAgeProps = {
  /** Time of the count, in milliseconds since 1970. */
  atMs: number
  /** Text before the age. */
  before?: string
}

/** Age of a count that is older than 10 s: "counted 4 min ago". Nothing for a newer count. */
export function CountAge({ atMs, before = '' }: CountAgeProps) {
  const nowMs = useNow()
  if (nowMs - atMs <= OLD_MS) return null
  return (
    <>
      {before}
      <span className="muted">counted {shortAge(atMs, nowMs)} ago</span>
    </>
  )
}

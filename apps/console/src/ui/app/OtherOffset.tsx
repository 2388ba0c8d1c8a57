import { otherOffset } from '../../lib/app/local-time.ts'

/** Offset from UTC below a time of day that has another one than the present, because summer time began or ended meanwhile. */
export function OtherOffset({ atMs }: { atMs: number }) {
  const offset = otherOffset(atMs, Date.now())
  if (offset === undefined) return null
  return (
    <>
      <br />
      <span className="tiny muted">{offset}</span>
    </>
  )
}

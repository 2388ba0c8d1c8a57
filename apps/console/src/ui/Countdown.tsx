/** A thin line that shrinks to nothing over `durationMs`. With reduced motion it does not shrink. */
export function Countdown({ durationMs }: { durationMs: number }) {
  return <div className="countdown" style={{ animationDuration: `${durationMs}ms` }} aria-hidden="true" />
}

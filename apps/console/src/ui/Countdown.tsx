/** A thin line that runs out; without motion it stays as it is. */
export function Countdown({ durationMs }: { durationMs: number }) {
  return <div className="countdown" style={{ animationDuration: `${durationMs}ms` }} aria-hidden="true" />
}

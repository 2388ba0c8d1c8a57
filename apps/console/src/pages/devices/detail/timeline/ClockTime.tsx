import { clockTime } from '../../../../lib/app/local-time.ts'
import { absoluteTime } from '../../../../lib/app/relative-time.ts'
import { OtherOffset } from '../../../../ui/app/OtherOffset.tsx'

/** Time of day in the browser's time zone: "13:58:04". */
export function wallTime(at: string): string {
  return clockTime(Date.parse(at))
}

/** Time of day of a moment. The tooltip has the date, in UTC and local. */
export function ClockTime({ at }: { at: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip must be reachable by keyboard
    <time dateTime={at} data-tip={absoluteTime(Date.parse(at))} tabIndex={0}>
      {wallTime(at)}
      <OtherOffset atMs={Date.parse(at)} />
    </time>
  )
}

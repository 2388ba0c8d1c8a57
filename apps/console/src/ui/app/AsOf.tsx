import { useLostHub } from '../../api/lost-hub.ts'
import { hourAndMinute } from '../../lib/app/local-time.ts'

/** " at 14:29" behind a state that only the hub knows, while the hub is lost. */
export function AsOf() {
  const lost = useLostHub()
  if (!lost) return null
  return ` at ${hourAndMinute(lost.lostAtMs)}`
}

import { useLostHub } from '../../api/lost-hub.ts'
import { hourAndMinute } from '../../lib/app/local-time.ts'

/** While the hub cannot be reached, adds the time of its last message, " at 14:29", to a state that only the hub knows. */
export function AsOf() {
  const lost = useLostHub()
  if (!lost) return null
  return ` at ${hourAndMinute(lost.lostAtMs)}`
}

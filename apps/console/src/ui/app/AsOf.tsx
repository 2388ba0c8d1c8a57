import { useLostHub } from '../../api/lost-hub.ts'
import { hourAndMinute } from '../../lib/app/local-time.ts'

/** While the hub cannot be reached: " at 14:29" behind a state that only the hub knows, because the state is from that time. */
export function AsOf() {
  const lost = useLostHub()
  if (!lost) return null
  return ` at ${hourAndMinute(lost.lostAtMs)}`
}

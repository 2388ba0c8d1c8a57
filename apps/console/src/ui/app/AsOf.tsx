import { useLostHub } from '../../api/lost-hub.ts'
import { hourAndMinute } from '../../lib/app/local-time.ts'

/** While the hub cannot be reached, the time of its last message (" at 14:29"), for use after a state such as "Connected". Else nothing. */
export function AsOf() {
  const lost = useLostHub()
  if (!lost) return null
  return ` at ${hourAndMinute(lost.lostAtMs)}`
}

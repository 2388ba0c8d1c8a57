import { useLostHub } from '../../api/lost-hub.ts'

/** " at 14:29" behind a state that only the hub knows, while the hub is lost. */
export function AsOf() {
  const lost = useLostHub()
  if (!lost) return null
  return ` at ${new Date(lost.lostAtMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`
}

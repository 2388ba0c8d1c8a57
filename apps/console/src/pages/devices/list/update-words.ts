import { howOften } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import { hasFailed } from '../has-failed.ts'
import type { DeviceRow } from './use-device-list.ts'

type Update = Pick<DeviceRow, 'currentVersion' | 'updateTargetVersion' | 'updateState' | 'updateFailureCount'>

/** State of a device's update in words. `tone` is `bad` after a failure and `busy` while an update runs. */
export type UpdateWords = { text: string; tone: 'plain' | 'busy' | 'bad' }

/** Words for the states in which no update runs (docs/protocol.md 4.4), except `failed`. */
const AT_REST: Readonly<Record<string, string>> = {
  completed: 'Completed',
  idle: 'Idle',
  blocked: 'Blocked',
  rollback: 'Rollback',
}

/** Words for the states in which an update runs. */
const BUSY: Readonly<Record<string, string>> = {
  installing: 'Installing',
  rebooting: 'Rebooting into',
  committing: 'Committing',
}

/** The state of a device's update in the device list: "Completed", "Failed 6 times", "Installing 2.23.0". Unknown states stay unchanged. */
export function updateWords({
  currentVersion,
  updateTargetVersion,
  updateState: state,
  updateFailureCount: failures = 0,
}: Update): UpdateWords {
  if (hasFailed({ state, failureCount: failures })) {
    return { text: `Failed ${howOften(Math.max(1, failures))}`, tone: 'bad' }
  }
  if (state === undefined) return { text: currentVersion === undefined ? 'Never' : '–', tone: 'plain' }
  const busy = lookUp<string | undefined>(BUSY, state, undefined)
  if (busy === undefined) return { text: lookUp(AT_REST, state, state), tone: 'plain' }
  return {
    text: updateTargetVersion ? `${busy} ${updateTargetVersion}` : busy.replace(' into', ''),
    tone: 'busy',
  }
}

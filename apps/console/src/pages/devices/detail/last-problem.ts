import type { ActionOutput } from '@muster/actions/client'
import { counted } from '../../../lib/app/format.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { hasFailed } from '../has-failed.ts'
import { SHORTEST_OFFLINE_MS } from './problems.ts'
import { healthOf, otaStatusOf } from './well-known.ts'

type Change = ActionOutput<'devices_QueryPropertyHistory'>['changes'][number]
type Connection = Pick<
  ActionOutput<'devices_QueryConnections'>['connections'][number],
  'connectedAt' | 'endedAt'
>

/** A problem that has ended. */
export type PastProblem = { words: string; beganAt: string; endedAt: string }

/** Maximum length, in characters, of text sent by a device in the sentence. Longer text is cut. */
const LONGEST_TEXT = 60

/**
 * The problem that ended last, from the past updates, health values and connections of a device, each newest first; `undefined` if there
 * is none.
 */
export function lastProblem(
  updates: readonly Change[],
  health: readonly Change[],
  connections: readonly Connection[],
): PastProblem | undefined {
  return [endedUpdate(updates), endedHealth(health), endedOffline(connections)]
    .filter(problem => problem !== undefined)
    .sort((a, b) => Date.parse(b.endedAt) - Date.parse(a.endedAt))[0]
}

function endedUpdate(changes: readonly Change[]): PastProblem | undefined {
  const run = lastRun(changes, ({ value }) => {
    const status = otaStatusOf(value)
    return status !== undefined && hasFailed(status)
  })
  if (!run) return undefined
  const { failureCount, targetVersion } = otaStatusOf(run.newest.value)!
  const what = targetVersion === undefined ? 'update' : `update to ${targetVersion.slice(0, LONGEST_TEXT)}`
  return { ...run, words: `${what} failed${failureCount > 1 ? ` ${counted(failureCount, 'time')}` : ''}` }
}

function endedHealth(changes: readonly Change[]): PastProblem | undefined {
  const run = lastRun(changes, ({ value }) => ['degraded', 'error'].includes(healthOf(value) ?? ''))
  if (!run) return undefined
  const secs = (Date.parse(run.endedAt) - Date.parse(run.beganAt)) / 1000
  return { ...run, words: `health ${healthOf(run.newest.value)} for ${durationInWords(secs)}` }
}

/** The latest consecutive changes for which `isBad` holds, if a later change has ended them. */
function lastRun(changes: readonly Change[], isBad: (change: Change) => boolean) {
  const first = changes.findIndex(isBad)
  if (first <= 0) return undefined
  const after = changes.findIndex((change, index) => index > first && !isBad(change))
  const oldest = changes[after === -1 ? changes.length - 1 : after - 1]!
  return { newest: changes[first]!, beganAt: oldest.changedAt, endedAt: changes[first - 1]!.changedAt }
}

function endedOffline(connections: readonly Connection[]): PastProblem | undefined {
  let begunAt: string | undefined
  for (const { connectedAt, endedAt } of connections) {
    if (begunAt !== undefined && endedAt !== undefined) {
      const gapMs = Date.parse(begunAt) - Date.parse(endedAt)
      if (gapMs >= SHORTEST_OFFLINE_MS)
        return { words: `offline for ${durationInWords(gapMs / 1000)}`, beganAt: endedAt, endedAt: begunAt }
    }
    if (begunAt === undefined || Date.parse(connectedAt) < Date.parse(begunAt)) begunAt = connectedAt
  }
  return undefined
}

import type { LimitSubject } from '@muster/actions'
import type { Db, Tx } from '../database/client/connection.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitValues } from './limits.ts'

/** Throws `LimitReached` when a device already has the maximum number of pending certificates. Callers must hold a lock on the device. */
export function requireRoomForCertificate(
  pendingCertificates: number,
  subject: LimitSubject & { deviceId: string },
  limits: LimitValues,
): void {
  const max = limits['device-pending-certificates']
  if (pendingCertificates < max) return
  throw new LimitReached({
    limit: 'device-pending-certificates',
    subject,
    max,
    found: pendingCertificates + 1,
    remedy: 'Accept, reject or delete pending certificates of the device.',
  })
}

/**
 * Throws `LimitReached` when a project already has the maximum number of devices with a pending certificate. Concurrent enrolments
 * do not see each other, so the limit may be exceeded by the number of devices that the hub admits at once.
 */
export async function requireRoomForPending(
  db: Db | Tx,
  subject: LimitSubject & { projectId: string },
  limits: LimitValues,
): Promise<void> {
  const max = limits['project-pending-devices']
  // Reads the index on pending certificates. The count exceeds the limit only if the limit was lowered.
  const { count } = await db
    .selectFrom('device')
    .where('project_id', '=', subject.projectId)
    .where('pending_certificates', '>', 0)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (count < max) return
  throw new LimitReached({
    limit: 'project-pending-devices',
    subject,
    max,
    found: count + 1,
    remedy: 'Accept, reject or delete pending devices of the project.',
  })
}
